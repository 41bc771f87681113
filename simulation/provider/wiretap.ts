/** What passes between the product and the provider, for whoever judges it: as it arrives, and the provider's answer. */
import type { InProcessAnswer, InProcessRequest, InProcessSimulator } from '../../simulator/index.ts';
import type { World } from '../world/world.ts';

export interface Overheard {
  /** When it arrived. */
  atMs: number;
  path: string;
  /** The access token that came along. */
  token: string | undefined;
  /** Where there is none, or none that can be read, it has no fields. */
  body: Record<string, unknown>;
}

export interface Listener {
  arrives(call: Overheard): void;
  answered(call: Overheard, answer: InProcessAnswer): void;
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
    for (const listener of this.listeners) listener.arrives(call);
    const answer = await this.provider.request(request);
    for (const listener of this.listeners) listener.answered(call, answer);
    return answer;
  }
}

/** The fields of a JSON object; none where it is something else. */
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
