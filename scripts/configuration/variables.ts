/** What a schema says of its variables or fields: everything that the page shows of one. */
import { z } from 'zod';

export interface Variable {
  name: string;
  type: string;
  /** `required`, `required unless …`, `default: …` or `optional`. */
  need: string;
  meaning: string;
  isSecret: boolean;
}

/** Variables by name, or the fields of an object. */
export type Shape = Readonly<Record<string, z.ZodType>>;

const SECRET = 'secret';
const noted = z.object({
  description: z.string().optional(),
  valueType: z.string().optional(),
  requiredWhen: z.string().optional(),
});

export function variablesOf(shape: Shape): Variable[] {
  return Object.entries(shape).map(([name, schema]) => {
    const { description } = notesOf(schema);
    if (description === undefined) throw new Error(`${name} has no description`);
    const type = typeOf(schema);
    return { name, type, need: needOf(schema), meaning: description, isSecret: type === SECRET };
  });
}

function notesOf(schema: z.core.$ZodType): z.output<typeof noted> {
  return noted.parse(z.globalRegistry.get(schema) ?? {});
}

function needOf(schema: z.ZodType): string {
  const { requiredWhen } = notesOf(schema);
  if (requiredWhen !== undefined) return `required ${requiredWhen}`;
  if (!schema.safeParse(undefined).success) return 'required';
  const fallback = defaultOf(schema);
  return fallback === undefined ? 'optional' : `default: \`${fallback}\``;
}

/** As a user writes it. An empty list or object is the same as nothing. */
function defaultOf(schema: z.ZodType): string | undefined {
  if (!(schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault)) return undefined;
  const { defaultValue } = schema.def;
  return typeof defaultValue === 'string' || typeof defaultValue === 'number'
    ? String(defaultValue)
    : undefined;
}

/** The innermost schema reads what the user writes. */
function typeOf(schema: z.core.$ZodType): string {
  const { valueType } = notesOf(schema);
  if (valueType !== undefined) return valueType;
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault)
    return typeOf(schema.def.innerType);
  if (schema instanceof z.ZodPipe) return typeOf(schema.def.in);
  if (schema instanceof z.ZodEnum) return oneOf(schema.options.map((option) => `\`${option}\``));
  if (schema instanceof z.ZodURL) return 'URL';
  if (schema instanceof z.ZodNumber) return integer(schema);
  return 'text';
}

function oneOf(options: readonly string[]): string {
  return [options.slice(0, -1).join(', '), ...options.slice(-1)].filter((part) => part !== '').join(' or ');
}

function integer({ minValue, maxValue }: z.ZodNumber): string {
  const bounded = maxValue !== null && maxValue < Number.MAX_SAFE_INTEGER;
  return bounded ? `integer, ${minValue} to ${maxValue}` : `integer, ${minValue} or more`;
}
