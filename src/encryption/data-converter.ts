/** How every process writes and reads payloads. */
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { DataConverter } from '@temporalio/common';
import type { Random } from '../surroundings/surroundings.ts';
import type { KeyRing } from './key-ring.ts';
import { EncryptionCodec } from './payload-codec.ts';

/** Part of the workflow bundle too, so that it is the same with and without keys. In a built package it is a `.js`. */
export const FAILURE_CONVERTER_PATH = fileURLToPath(
  new URL(`./failure-converter${extname(import.meta.url)}`, import.meta.url),
);

export function dataConverter(ring: KeyRing | undefined, random: Random): DataConverter {
  return {
    failureConverterPath: FAILURE_CONVERTER_PATH,
    ...(ring && { payloadCodecs: [new EncryptionCodec(ring, random)] }),
  };
}
