/** The data converter of every process. */
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { DataConverter } from '@temporalio/common';
import type { Random } from '../surroundings/surroundings.ts';
import type { KeyRing } from './key-ring.ts';
import { EncryptionCodec } from './payload-codec.ts';

/**
 * Set with and without keys, because the workflow bundle contains the converter. In a built package, it is a `.js`
 * file.
 */
export const FAILURE_CONVERTER_PATH = fileURLToPath(
  new URL(`./failure-converter${extname(import.meta.url)}`, import.meta.url),
);

export function dataConverter(ring: KeyRing | undefined, random: Random): DataConverter {
  return {
    failureConverterPath: FAILURE_CONVERTER_PATH,
    ...(ring && { payloadCodecs: [new EncryptionCodec(ring, random)] }),
  };
}
