import { z } from 'zod';

/** The variables of a process, as `process.env` has them. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The provider's environment that a process works in. A worker refuses payouts of another one. */
export const paymentsEnvironment = z.enum(['test', 'sandbox', 'production']);

export const httpUrl = z.url({ protocol: /^https?$/ });

/** Treats an empty variable as absent, because shells and compose files write it so. */
export function withoutEmpty(environment: Environment): Environment {
  return Object.fromEntries(
    Object.entries(environment).filter(([, value]) => value !== undefined && value !== ''),
  );
}

export function isLoopback(url: string): boolean {
  const host = URL.canParse(url) ? new URL(url).hostname : '';
  return host === 'localhost' || host === '[::1]' || /^127(\.\d{1,3}){3}$/.test(host);
}
