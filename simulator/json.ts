/** JSON whose numbers keep every digit, and merge patches for answers. */
import { isLosslessNumber, parse, stringify } from 'lossless-json';

/** Returns numbers as `LosslessNumber`. Throws on invalid JSON. */
export function parseJson(text: string): unknown {
  return parse(text);
}

export function writeJson(value: unknown): string {
  return stringify(value) ?? 'null';
}

export type JsonObject = Record<string, unknown>;

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isLosslessNumber(value);
}

/** A repeated field counts as absent. */
export function textFields(fields: unknown): Record<string, string> {
  if (!isJsonObject(fields)) return {};
  return Object.fromEntries(
    Object.entries(fields).flatMap(([key, value]) => (typeof value === 'string' ? [[key, value]] : [])),
  );
}

/** RFC 7396: `null` removes a field, objects merge, everything else replaces. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isJsonObject(patch)) return patch;
  const merged: JsonObject = isJsonObject(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete merged[key];
    else merged[key] = mergePatch(merged[key], value);
  }
  return merged;
}
