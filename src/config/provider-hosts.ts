/** Which hosts of the provider a process may name (H48). Outside a test, there is no default. */
import { z } from 'zod';
import { type Environment, isTest } from './environment.ts';
import { partsOf } from './values.ts';

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
      'The hosts that `PAYMENTS_BASE_URL` and `PAYMENTS_AUTH_URL` may have: `api.provider.example,auth.provider.example`. A host without a port may have any port. Unless `PAYMENTS_ENVIRONMENT=test`, both URLs must also be https. A process with a URL of another host does not start.',
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
