/** What errors may quote: codes and class names of the usual form. Messages may contain URLs and secrets. */

/** The error code of a transport error, or `UNKNOWN`. */
export function safeErrorCode(error: unknown): string {
  const code: unknown =
    typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
  return typeof code === 'string' && /^[A-Z][A-Z0-9_]{0,63}$/.test(code) ? code : 'UNKNOWN';
}

/** The class name of what was thrown, or `Error` if it has an unusual form. */
export function safeErrorName(error: unknown): string {
  const name = error instanceof Error ? error.name : typeof error;
  return /^[A-Za-z][A-Za-z0-9]{0,63}$/.test(name) ? name : 'Error';
}

/** The envelope's code, or `unreadable` if it has an unusual form. */
export function safeServiceCode(code: string | undefined): string | undefined {
  if (code === undefined) return undefined;
  return /^[A-Za-z0-9_.-]{1,32}$/.test(code) ? code : 'unreadable';
}
