/** Secrets in the environment: the secret itself, or `file:PATH`, which is how Docker and Kubernetes hand secrets over. */
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import type { Read } from './config-error.ts';

const FILE = 'file:';
/** Messages of the file system quote the path, which may be a secret that begins with `file:`. Codes do not. */
const coded = z.object({ code: z.string().regex(/^[A-Z]{1,32}$/) });

/** A variable that holds a secret. Its issues never quote the value. */
export const secret = z
  .string()
  .transform((text, context): string => {
    const read = readSecret(text);
    if (read.ok) return read.value;
    for (const message of read.problems) context.addIssue({ code: 'custom', message });
    return z.NEVER;
  })
  .meta({ valueType: 'secret' });

/** The secret that `text` is or names. Editors and `echo` end a file with a line break, which is no part of the secret. */
export function readSecret(text: string): Read<string> {
  if (!text.startsWith(FILE)) return { ok: true, value: text };
  try {
    const value = readFileSync(text.slice(FILE.length), 'utf8').replace(/[\r\n]+$/, '');
    return value.trim() === ''
      ? { ok: false, problems: ['names a file that is empty'] }
      : { ok: true, value };
  } catch (error) {
    return { ok: false, problems: [`names a file that cannot be read (${codeOf(error)})`] };
  }
}

function codeOf(error: unknown): string {
  const read = coded.safeParse(error);
  return read.success ? read.data.code : 'UNKNOWN';
}
