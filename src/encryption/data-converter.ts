/** The data converter of every process. */
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { DataConverter } from '@temporalio/common';
import type { Random } from '../runtime/runtime.ts';
import type { KeyRing } from './key-ring.ts';
import { EncryptionCodec } from './payload-codec.ts';

/** Needed without keys too, because the workflow bundle contains it. In a built package, a `.js` file. */
export const FAILURE_CONVERTER_PATH = fileURLToPath(
  new URL(`./failure-converter${extname(import.meta.url)}`, import.meta.url),
);

export function dataConverter(ring: KeyRing | undefined, random: Random): DataConverter {
  return {
    failureConverterPath: FAILURE_CONVERTER_PATH,
    ...(ring && { payloadCodecs: [new EncryptionCodec(ring, random)] }),
  };
}
