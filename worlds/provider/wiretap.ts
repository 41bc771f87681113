/** Observes the calls to the provider and their answers, for the oracle. */
import type { InProcessAnswer, InProcessRequest, InProcessSimulator } from '../../simulator/index.ts';
import { receivedExchange } from '../../src/payments/transport.ts';
import type { World } from '../engine/world.ts';

export interface ObservedCall {
  /** When it arrived. */
  atMs: number;
  path: string;
  /** The access token of the call. */
  token: string | undefined;
  /** Empty if there is no body or it cannot be parsed. */
  body: Record<string, unknown>;
}

export interface Listener {
  onCall(call: ObservedCall): void;
  onAnswer(call: ObservedCall, answer: InProcessAnswer): void;
}

export class Wiretap implements Pick<InProcessSimulator, 'request'> {
  readonly listeners: Listener[] = [];
  private readonly world: World;
  private readonly provider: Pick<InProcessSimulator, 'request'>;

  constructor(world: World, provider: Pick<InProcessSimulator, 'request'>) {
    this.world = world;
    this.provider = provider;
  }

  async request(request: InProcessRequest): Promise<InProcessAnswer> {
    const { path, body, headers } = request;
    const token = headers['authorization']?.replace(/^Bearer /, '');
    const call = { atMs: this.world.now, path, token, body: fieldsIn(body) };
    for (const listener of this.listeners) listener.onCall(call);
    const answer = await this.provider.request(request);
    for (const listener of this.listeners) listener.onAnswer(call, decoded(answer));
    return answer;
  }
}

const MAX_BODY_BYTES = 1_048_576;

function decoded(answer: InProcessAnswer): InProcessAnswer {
  if (answer.is !== 'answer') return answer;
  const received = receivedExchange(answer, MAX_BODY_BYTES);
  return received.kind === 'response' ? { ...answer, body: received.body } : answer;
}

/** The fields of a JSON object; empty for any other value. */
export function fieldsIn(body: Buffer | undefined): Record<string, unknown> {
  try {
    const parsed: unknown = JSON.parse(body?.toString() ?? '');
    return isFields(parsed) ? parsed : {};
  } catch {
    return {};
  }
}

export function isFields(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
