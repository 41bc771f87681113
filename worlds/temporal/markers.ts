/** The markers in which core records patches. */
import { defaultPayloadConverter } from '@temporalio/common';
import { z } from 'zod';
import type { Payload } from './commands.ts';
import type { Attributes, Entry } from './history.ts';

const PATCH = 'core_patch';

export interface PatchMarker {
  patchId: string;
  deprecated: boolean;
}

const patchData = z.object({ id: z.string(), deprecated: z.boolean() });

export function patchMarkerEvent({
  patchId,
  deprecated,
}: PatchMarker): Attributes['markerRecordedEventAttributes'] {
  const details = { 'patch-data': { payloads: [payload({ id: patchId, deprecated })] } };
  return { markerName: PATCH, details };
}

export function patchMarker({ event }: Entry): PatchMarker | undefined {
  const marker = event.markerRecordedEventAttributes;
  if (marker?.markerName !== PATCH) return undefined;
  const { id, deprecated } = patchData.parse(value(marker.details?.['patch-data']?.payloads?.[0]));
  return { patchId: id, deprecated };
}

export function payload(of: unknown): Payload {
  return defaultPayloadConverter.toPayload(of);
}

export function value(of: Payload | undefined): unknown {
  return of && defaultPayloadConverter.fromPayload(of);
}
