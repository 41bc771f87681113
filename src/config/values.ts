/** The types of variables that several processes read. */
import { readFileSync } from 'node:fs';
import { BlockList, isIP } from 'node:net';
import { z } from 'zod';
import { DURATION_RULE, durationMs } from './durations.ts';
import { ConfigError, type Environment, isLoopback, isTest } from './environment.ts';
import { ANY_LENGTH } from './secrets.ts';

export const paymentsEnvironment = z.enum(['test', 'sandbox', 'production'], {
  error: ({ input }) => (input === undefined ? 'is missing' : 'must be test, sandbox or production'),
});

export const httpUrl = z.url({
  protocol: /^https?$/,
  error: ({ input }) => (input === undefined ? 'is missing' : 'must be an http or https URL'),
});

/** For the processes that do not call the provider. */
export const testBaseUrl = httpUrl
  .optional()
  .describe("As for the workers. It isn't called, but identifies a loopback test.");

/** The first of `values` is the default. */
export function choice<const Value extends string>(
  values: readonly [Value, ...Value[]],
  description: string,
) {
  return z.enum(values).default(values[0]).describe(description);
}

export function integer(max: number, fallback: number, description: string) {
  return z.coerce.number().int().min(1).max(max).default(fallback).describe(description);
}

export function optionalText(description: string, valueType?: string) {
  return z
    .string()
    .optional()
    .meta({ description, ...(valueType && { valueType }) });
}

/** `500ms`, `30s`, `10m`, `12h` or `30d`, parsed to milliseconds. */
export const duration = z
  .string()
  .transform((text, context) => {
    const ms = durationMs(text);
    if (ms !== undefined) return ms;
    context.addIssue({ code: 'custom', message: DURATION_RULE });
    return z.NEVER;
  })
  .meta({ valueType: 'duration' });

export function durationOf(fallback: string, description: string) {
  return duration.prefault(fallback).describe(description);
}

/** `1d,7d,30d`, in milliseconds. */
const durations = z
  .string()
  .transform((text) => text.split(',').map((part) => part.trim()))
  .pipe(z.array(duration).min(1).max(10))
  .refine((list) => list.every((each, at) => each > (list[at - 1] ?? 0)), 'must rise from one to the next')
  .meta({ valueType: 'durations' });

export const followUpShape = {
  PAYOUTS_FOLLOW_UP: durations
    .prefault('1d,7d,30d')
    .describe(
      'When the follow-up checks a finished payout again: at most ten durations from its end, rising, comma-separated.',
    ),
};

export const logFormatShape = {
  PAYOUTS_LOG_FORMAT: choice(
    ['auto', 'json', 'text'],
    'The format of [the log](observability.md#the-log). `auto`: text on a terminal, JSON elsewhere.',
  ),
};

export const tracingShape = {
  OTEL_EXPORTER_OTLP_ENDPOINT: httpUrl
    .optional()
    .describe(
      "Where [traces](observability.md#traces) go, over OTLP/HTTP, such as `http://otel-collector:4318`. Without it, nothing is traced. OpenTelemetry's other `OTEL_…` variables apply too.",
    ),
};

export const logLevelShape = {
  PAYOUTS_LOG_LEVEL: z
    .enum(['debug', 'info', 'warn', 'error', 'silent'])
    .default('info')
    .describe("What's logged to standard error. No level logs secrets or personal data."),
  ...logFormatShape,
};

export const drainShape = {
  PAYOUTS_DRAIN: durationOf(
    '20s',
    'How long the process may take to [stop](operations.md#stop-a-server) after SIGTERM.',
  ),
};

export interface Listen {
  host: string;
  port: number;
}

export function hostInUrl(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}

/** Whether no other machine can reach the address. */
export function listensOnLoopback({ host }: Listen): boolean {
  return isLoopback(`http://${hostInUrl(host)}`);
}

/** `127.0.0.1:8080`, `[::1]:8080` or `payouts.internal:8080`. */
export const listenAddress = z
  .string()
  .transform((text, context): Listen => {
    const [, bracketed, plain, port] =
      /^(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9.-]+)):(\d{1,5})$/.exec(text) ?? [];
    const host = bracketed ?? plain;
    if (host !== undefined && Number(port) <= 65_535) return { host, port: Number(port) };
    context.addIssue({ code: 'custom', message: 'must be host:port, such as 127.0.0.1:8080' });
    return z.NEVER;
  })
  .meta({ valueType: '`host:port`' });

/** The comma-separated parts of a text that are not empty. */
export function partsOf(text: string): string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

export const targetCurrenciesShape = {
  PAYMENTS_TARGET_CURRENCIES: z
    .string()
    .transform(partsOf)
    .pipe(z.array(z.string().regex(/^[A-Z]{3}$/, 'must be codes of three uppercase letters')).min(1))
    .prefault('CNY')
    .meta({
      description:
        'The target currencies that the provider accepts. Others are bad input. Remove a currency only after its payouts have finished. Spec: Create a payout (CNY).',
      valueType: 'codes, comma-separated',
    }),
};

/** `10.0.0.7` or `10.0.0.0/8`. */
export const network = z
  .string()
  .refine(isNetwork, { message: 'must be IP addresses or networks, such as 10.0.0.0/8', abort: true });

/** `limited` says what is limited per address. */
export function proxies(limited: string) {
  return z
    .string()
    .transform(partsOf)
    .pipe(z.array(network.refine(isNarrow, 'must not be wider than /8 (IPv4) or /32 (IPv6)')))
    .default([])
    .meta({
      description: `The addresses or networks of your TLS proxies, such as \`10.0.0.0/8\`: at most a /8 (IPv4) or /32 (IPv6). ${limited} limited per address, which is then that of \`X-Forwarded-For\`. Without it, all clients of a proxy share one limit.`,
      valueType: 'addresses, comma-separated',
    });
}

function isNetwork(text: string): boolean {
  const [, address = '', bits] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const family = isIP(address);
  return family !== 0 && Number(bits ?? 0) <= (family === 4 ? 32 : 128);
}

/** Contains all of IPv4. */
const MAPPED_IPV4 = new BlockList();
MAPPED_IPV4.addSubnet('::', 32, 'ipv6');

/** Whoever is in such a network chooses the address of its requests. */
function isNarrow(text: string): boolean {
  const [address = '', bits] = text.split('/');
  if (bits === undefined || isIP(address) === 4) return Number(bits ?? 32) >= 8;
  return Number(bits) === 128 || (Number(bits) >= 32 && !MAPPED_IPV4.check(address, 'ipv6'));
}

/** Single hosts: whoever is there is trusted. */
export const hostAddresses = z
  .string()
  .transform(partsOf)
  .pipe(
    z.array(
      z.string().refine((text) => isIP(text) !== 0, 'must be IP addresses of single hosts, such as 10.0.0.7'),
    ),
  );

const FILE = 'file:';
/** The file system's messages quote the path, which may be a secret that begins with `file:`. Its codes do not. */
const coded = z.object({ code: z.string().regex(/^[A-Z]{1,32}$/) });

/** A secret, or `file:PATH`, which is how Docker and Kubernetes mount secrets. Its issues never quote the value. */
export const secret = z
  .string()
  .transform((text, context): string => {
    if (!text.startsWith(FILE)) return text;
    const fail = (message: string) => {
      context.addIssue({ code: 'custom', message });
      return z.NEVER;
    };
    try {
      // Editors and `echo` end a file with a line break.
      const value = readFileSync(text.slice(FILE.length), 'utf8').replace(/[\r\n]+$/, '');
      return value.trim() === '' ? fail('names a file that is empty') : value;
    } catch (error) {
      return fail(`names a file that cannot be read (${errorCodeOf(error)})`);
    }
  })
  .meta({ valueType: 'secret' });

/** The secret that `text` is or names. `field` names it in problems. Throws `ConfigError`. */
export function readSecret(field: string, text: string): string {
  const read = secret.safeParse(text);
  if (read.success) return read.data;
  throw new ConfigError(read.error.issues.map(({ message }) => `${field} ${message}`));
}

/** Of the keys of a signer or a verifier. */
export function minLengthFor(algorithm: string): number | undefined {
  return algorithm.startsWith('module:') ? ANY_LENGTH : undefined;
}

/** A secret by reference, for files that must not contain secrets. */
export const referenceToSecret = z
  .string()
  .regex(/^(env|file):.+/, 'must be a reference: env:NAME or file:PATH');

/** The secret to which `env:NAME` or `file:PATH` refers. Throws `ConfigError`. */
export function readReference(field: string, reference: string, environment: Environment): string {
  if (!reference.startsWith('env:')) return readSecret(field, reference);
  const name = reference.slice('env:'.length);
  // Every object inherits properties such as `toString`, which are not variables.
  const text = Object.hasOwn(environment, name) && environment[name];
  if (text) return readSecret(field, text);
  throw new ConfigError([`${field} cannot be read from its reference`]);
}

export function errorCodeOf(error: unknown): string {
  return coded.safeParse(error).data?.code ?? 'UNKNOWN';
}

const MISSING =
  'PAYMENTS_ALLOWED_HOSTS: is missing: unless PAYMENTS_ENVIRONMENT=test, it lists the hosts of the provider';

const hosts = z
  .string()
  .transform(partsOf)
  .pipe(
    z
      .array(
        z
          .string()
          .refine(
            isHost,
            'must be hosts as in a URL: lowercase names or IP addresses, with a port unless 443',
          ),
      )
      .min(1, 'must name a host'),
  );

/** `gateway.example` or `gateway.example:8443`. */
function isHost(text: string): boolean {
  const url = `https://${text}`;
  return !text.includes('*') && URL.canParse(url) && new URL(url).host === text;
}

export const allowedHostsShape = {
  PAYMENTS_ALLOWED_HOSTS: hosts.optional().meta({
    description:
      "The hosts that both URLs may have: `api.provider.example,auth.provider.example`. A host without a port allows any port. Unless `PAYMENTS_ENVIRONMENT=test`, both URLs must be https. With any other URL, the process doesn't start.",
    requiredWhen: 'with `PAYMENTS_BASE_URL` or `PAYMENTS_AUTH_URL`, unless `PAYMENTS_ENVIRONMENT=test`',
    valueType: 'hosts, comma-separated',
  }),
};

/**
 * The problems of the provider's addresses that the process reads, by variable. The schema reports those of the single
 * variables.
 */
export function addressProblems(
  environment: Environment,
  names: readonly string[] = ['PAYMENTS_BASE_URL'],
): string[] {
  const mayBeAny = isTest(environment);
  const listed = environment['PAYMENTS_ALLOWED_HOSTS'];
  const allowed = listed ? partsOf(listed) : undefined;
  const problems = names.flatMap((name) => {
    const text = environment[name] ?? '';
    if (!URL.canParse(text)) return [];
    const { protocol, host, hostname } = new URL(text);
    const isForeign = allowed && !allowed.includes(host) && !allowed.includes(hostname);
    return [
      ...(mayBeAny || protocol === 'https:'
        ? []
        : [`${name}: must be https unless PAYMENTS_ENVIRONMENT=test`]),
      ...(mayBeAny || allowed ? [] : [MISSING]),
      ...(isForeign ? [`${name}: has a host that PAYMENTS_ALLOWED_HOSTS does not list`] : []),
    ];
  });
  return [...new Set(problems)];
}
