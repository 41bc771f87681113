/** What must stand nowhere in the open: secrets and personal data, in every history event and every line of a log. */
import type { DataConverter, Payload } from '@temporalio/common';
import { isFields } from '../provider/wiretap.ts';
import { loadDataConverter, temporal } from '../sdk.ts';
import type { Run } from '../temporal/run.ts';
import { APP_SECRET } from './payout-world.ts';
import type { Feature, Scene } from './scene.ts';

/** Begins every token, refresh token and authorization code of the provider. */
export const TOKENS = 'tok3n-';

const { HistoryEvent } = temporal.api.history.v1;

export class Secrets implements Feature {
  private readonly scene: Scene;

  constructor(scene: Scene) {
    this.scene = scene;
  }

  async judge(): Promise<void> {
    const { world, server, converter } = this.scene.there;
    const secrets = this.secrets();
    for (const run of server.runs)
      for (const name of foundIn(bytesOf(run), secrets))
        world.violation(`${run.workflowId} tells ${name} to everybody who reads its history`);
    for (const name of foundIn(Buffer.from(world.logs.join('\n')), secrets))
      world.violation(`a log tells ${name}`);
    for (const run of server.runs)
      if ((await world.standingStill(decoded(run, converter))).includes(TOKENS))
        world.violation(`${run.workflowId} tells a token to whoever holds the keys of payloads`);
  }

  /** By what they are. */
  private secrets(): ReadonlyMap<string, readonly Buffer[]> {
    const receivers = this.scene.plan.payouts.map(({ request }) => request.receiver);
    const spelled = (values: readonly string[]) => [...new Set(values)].flatMap(spellingsOf);
    return new Map([
      ['a token', spelled([TOKENS])],
      ['the secret of the application', spelled([APP_SECRET])],
      ['the name of a beneficiary', spelled(receivers.map(({ bankAccountName }) => bankAccountName))],
      ['the number of an account', spelled(receivers.map(({ bankAccountNumber }) => bankAccountNumber))],
      ['the number of an identity card', spelled(receivers.map(({ idCardNumber }) => idCardNumber))],
    ]);
  }
}

/** As the server stores it: ids, types, memos, search attributes, failures and payloads. */
function bytesOf({ entries }: Run): Buffer {
  return Buffer.concat(
    entries.map(({ event }) => HistoryEvent.encode(HistoryEvent.fromObject(event)).finish()),
  );
}

function foundIn(bytes: Buffer, secrets: ReadonlyMap<string, readonly Buffer[]>): string[] {
  return [...secrets]
    .filter(([, spellings]) => spellings.some((spelling) => bytes.includes(spelling)))
    .map(([name]) => name);
}

/** As it is, and in base64 at each of the three places where it may begin. */
function spellingsOf(value: string): Buffer[] {
  const aligned = [0, 1, 2].map((before) => {
    const encoded = Buffer.from('x'.repeat(before) + value).toString('base64');
    // The characters at both ends depend on the neighbors too.
    return encoded.slice(before === 0 ? 0 : 4, Math.floor(((before + value.length) * 8) / 6 / 4) * 4);
  });
  return [value, ...aligned].map((text) => Buffer.from(text));
}

/** What a reader with the keys of payloads, such as the codec server, sees of a run. */
async function decoded({ entries }: Run, converter: DataConverter): Promise<Buffer> {
  const { payloadCodecs } = loadDataConverter(converter);
  let payloads = entries.flatMap(({ event }) => payloadsIn(event));
  for (const codec of payloadCodecs) payloads = await codec.decode(payloads);
  // One that is empty comes as a list.
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
