/** The markers in which core records local activities and patches. */
import { defaultPayloadConverter } from '@temporalio/common';
import { z } from 'zod';
import type { LocalActivityMarker, Payload } from './commands.ts';
import type { Attributes, Entry } from './history.ts';
import { toStamp } from './time.ts';

const LOCAL = 'core_local_activity';
const PATCH = 'core_patch';

export interface PatchMarker {
  patchId: string;
  deprecated: boolean;
}

const localData = z.object({
  seq: z.number(),
  activity_id: z.string(),
  activity_type: z.string(),
  complete_time: z.object({ seconds: z.number(), nanos: z.number() }),
});
const patchData = z.object({ id: z.string(), deprecated: z.boolean() });

export function localMarkerEvent(local: LocalActivityMarker): Attributes['markerRecordedEventAttributes'] {
  const { seconds, nanos } = toStamp(local.completedAt);
  const data = {
    seq: local.seq,
    attempt: 1,
    activity_id: local.activityId,
    activity_type: local.activityType,
    complete_time: { seconds: seconds.toNumber(), nanos },
    backoff: null,
    original_schedule_time: null,
  };
  const details = { data: { payloads: [payload(data)] } };
  return local.failure
    ? { markerName: LOCAL, details, failure: local.failure }
    : {
        markerName: LOCAL,
        details: { ...details, result: { payloads: local.result ? [local.result] : [] } },
      };
}

export function localMarker({ event }: Entry): LocalActivityMarker | undefined {
  const marker = event.markerRecordedEventAttributes;
  if (marker?.markerName !== LOCAL) return undefined;
  const data = localData.parse(value(marker.details?.['data']?.payloads?.[0]));
  return {
    seq: data.seq,
    activityId: data.activity_id,
    activityType: data.activity_type,
    completedAt: data.complete_time.seconds * 1000 + data.complete_time.nanos / 1e6,
    result: marker.details?.['result']?.payloads?.[0],
    failure: marker.failure ?? undefined,
  };
}

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
