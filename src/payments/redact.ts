/** Removes secrets and personal data from what is about to be logged. */

export const MASK = '[redacted]';

/** Compared without case, `_` and `-`, so that one entry covers every spelling in the spec. */
const HIDDEN_KEYS = new Set(
  [
    ...['access_token', 'refresh_token', 'token', 'authorization', 'cookie', 'set-cookie'],
    ...['app_secret', 'secret', 'password', 'signing_key', 'private_key', 'signature', 'x-signature'],
    ...['code', 'state', 'open_id'],
    ...['bankAccountNumber', 'bankAccountName', 'bankBranchName', 'idCardNumber', 'account_number'],
    ...['firstName', 'lastName', 'userNick', 'phone', 'mobile', 'email', 'address'],
  ].map(plainKey),
);

/** A copy with secret and personal fields masked at any depth. Cycles are masked too. */
export function redact(value: unknown): unknown {
  return redactInside(value, new Set());
}

/** The origin and the path of a URL, without query, fragment and credentials. Text that is not a URL is masked. */
export function safeUrl(url: string | URL): string {
  const text = String(url);
  if (!URL.canParse(text)) return MASK;
  const { protocol, host, pathname } = new URL(text);
  return `${protocol}//${host}${pathname}`;
}

/** The error code of a transport error, or `UNKNOWN`. Messages are not used, because they may contain URLs. */
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

function redactInside(value: unknown, above: ReadonlySet<object>): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (above.has(value)) return MASK;
  const inside = new Set(above).add(value);
  if (Array.isArray(value)) return value.map((inner) => redactInside(inner, inside));
  if (value instanceof URL) return safeUrl(value);
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key,
      HIDDEN_KEYS.has(plainKey(key)) ? MASK : redactInside(inner, inside),
    ]),
  );
}

function plainKey(key: string): string {
  return key.toLowerCase().replaceAll(/[_-]/g, '');
}
