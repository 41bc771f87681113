/** JSON Schemas of requests and answers, for the OpenAPI document and `schemas/`. */
import { z } from 'zod';
import { describeFields } from './field-descriptions.ts';

/** Fields whose values never grow in 1.x. */
const CLOSED: readonly string[] = ['outcome', 'status'];

/** `input`: as callers send it. `output`: as the API server sends it. `name`: of the schema, for ambiguous fields. */
export function jsonSchema(schema: z.ZodType, io: 'input' | 'output', name = '') {
  const made = z.toJSONSchema(schema, { io });
  describeFields(made, name);
  if (io === 'output') open(made);
  return made;
}

/** Later versions add fields and codes to what they send, so a schema of an answer accepts any: the known ones are examples. */
function open(schema: unknown, field = ''): void {
  if (typeof schema !== 'object' || schema === null) return;
  acceptMore(schema, field);
  for (const [name, part] of Object.entries(schema)) {
    if (name === 'examples') continue;
    if (name !== 'properties') open(part, field);
    else for (const [property, of] of Object.entries(Object(part))) open(of, property);
  }
}

function acceptMore(
  schema: { additionalProperties?: unknown; propertyNames?: unknown; enum?: unknown },
  field: string,
): void {
  if (schema.additionalProperties === false) delete schema.additionalProperties;
  delete schema.propertyNames;
  if (schema.enum === undefined || CLOSED.includes(field)) return;
  Object.assign(schema, { examples: schema.enum });
  delete schema.enum;
}
