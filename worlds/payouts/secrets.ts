/** Checks that no secret, no personal data and no text that must not be shown is in a history event or a log line. */
import type { DataConverter, Payload } from '@temporalio/common';
import { isFields } from '../provider/wiretap.ts';
import { loadDataConverter } from '../sdk.ts';
import { encodingOf } from '../temporal/history.ts';
import type { Run } from '../temporal/run.ts';
import { APP_SECRET, metadataValue } from './payout-world.ts';
import type { Feature, Scene } from './scene.ts';

/**
 * The prefix of every token, refresh token and authorization code of the provider. Long, so that ciphertext does not contain
 * one of its base64 forms by chance.
 */
export const TOKENS = 'tok3n-of-the-provider-';

/** What the simulator's fault `odd-text` sends, in the JSON of a payload: escaped, or as it is. */
const ODD_TEXT = /\\u00[01]|\\ud83d|[\u0085\u009b\u2028\u202e\u2066]/;

export class Secrets implements Feature {
  private readonly scene: Scene;

  constructor(scene: Scene) {
    this.scene = scene;
  }

  async check(): Promise<void> {
    const { world, server, converter } = this.scene.system;
    const secrets = this.secrets();
    for (const run of server.runs)
      for (const name of namesFound(Buffer.concat(run.entries.map(encodingOf)), secrets))
        world.violation(`${run.workflowId} shows ${name} in its history`);
    for (const name of namesFound(Buffer.from(world.logs.join('\n')), secrets))
      world.violation(`a log shows ${name}`);
    for (const run of server.runs) {
      const payloads = (await world.withClockStopped(decoded(run, converter))).toString();
      if (payloads.includes(TOKENS))
        world.violation(`${run.workflowId} shows a token to holders of the payload keys`);
      if (ODD_TEXT.test(payloads)) world.violation(`${run.workflowId} has text that must not be shown`);
    }
  }

  /** By description. */
  private secrets(): ReadonlyMap<string, readonly Buffer[]> {
    const { payouts } = this.scene.plan;
    const receivers = payouts.map(({ request }) => request.receiver);
    const encoded = (values: readonly string[]) => [...new Set(values)].flatMap(encodingsOf);
    return new Map([
      ['a token', encoded([TOKENS])],
      ['the application secret', encoded([APP_SECRET])],
      ['the name of a beneficiary', encoded(receivers.map(({ bankAccountName }) => bankAccountName))],
      ['an account number', encoded(receivers.map(({ bankAccountNumber }) => bankAccountNumber))],
      ['an identity card number', encoded(receivers.map(({ idCardNumber }) => idCardNumber))],
      ['metadata', encoded(payouts.map(({ number }) => metadataValue(number)))],
    ]);
  }
}

function namesFound(bytes: Buffer, secrets: ReadonlyMap<string, readonly Buffer[]>): string[] {
  return [...secrets]
    .filter(([, encodings]) => encodings.some((encoding) => bytes.includes(encoding)))
    .map(([name]) => name);
}

/** The plain text, and its base64 form at each of the three possible offsets. */
function encodingsOf(value: string): Buffer[] {
  const aligned = [0, 1, 2].map((before) => {
    const encoded = Buffer.from('x'.repeat(before) + value).toString('base64');
    // The first and last characters also depend on the neighboring bytes.
    return encoded.slice(before === 0 ? 0 : 4, Math.floor(((before + value.length) * 8) / 6 / 4) * 4);
  });
  return [value, ...aligned].map((text) => Buffer.from(text));
}

/** What a reader with the payload keys, such as the codec server, sees of a run. */
async function decoded({ entries }: Run, converter: DataConverter): Promise<Buffer> {
  const { payloadCodecs } = loadDataConverter(converter);
  let payloads = entries.flatMap(({ event }) => payloadsIn(event));
  for (const codec of payloadCodecs) payloads = await codec.decode(payloads);
  // An empty payload decodes to an array.
  return Buffer.concat(payloads.map(({ data }) => Buffer.from(data ?? [])));
}

function payloadsIn(value: unknown): Payload[] {
  if (Array.isArray(value)) return value.flatMap(payloadsIn);
  if (!isFields(value) || value instanceof Uint8Array) return [];
  const { metadata, data } = value;
  if (isFields(metadata) && data instanceof Uint8Array) return [{ metadata: metadataOf(metadata), data }];
  return Object.values(value).flatMap(payloadsIn);
}

function metadataOf(fields: Record<string, unknown>): NonNullable<Payload['metadata']> {
  const isBytes = (entry: [string, unknown]): entry is [string, Uint8Array] => entry[1] instanceof Uint8Array;
  return Object.fromEntries(Object.entries(fields).filter(isBytes));
}
