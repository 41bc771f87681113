/** The settings with which each program starts outside a test. */
import type { Environment } from '../../src/config/environment.ts';
import { callerEntry, keysFile } from './callers.ts';
import { newKey, newSecret } from './keys.ts';

export const WORKER = 'src/workers/main.ts';
export const API = 'src/starters/api/main.ts';
export const CODEC = 'src/codec-server/main.ts';
/** A published key. */
export const SIMULATED = 'k1:c2ltdWxhdGVkLXNpbXVsYXRlZC1zaW11bGF0ZWQtMzI=';

const COMMON: Environment = {
  PAYMENTS_ENVIRONMENT: 'sandbox',
  TEMPORAL_ADDRESS: '127.0.0.1:9',
  PAYOUTS_ENCRYPTION_KEYS: newKey('k1'),
};

export const OWN: Readonly<Record<string, Environment>> = {
  [WORKER]: {
    ...COMMON,
    PAYMENTS_BASE_URL: 'https://api.provider.example',
    PAYMENTS_AUTH_URL: 'https://auth.provider.example',
    PAYMENTS_ALLOWED_HOSTS: 'api.provider.example,auth.provider.example',
    PAYMENTS_APP_ID: 'app-1',
    PAYMENTS_APP_SECRET: newSecret(),
    PAYOUTS_TOKEN_KEYS: newKey('t1'),
  },
  [API]: {
    ...COMMON,
    PAYOUTS_API_LISTEN: '127.0.0.1:0',
    PAYOUTS_API_KEYS_FILE: keysFile([callerEntry('shop')]),
  },
  [CODEC]: {
    ...COMMON,
    PAYOUTS_CODEC_LISTEN: '127.0.0.1:0',
    PAYOUTS_CODEC_KEYS: `olga:${newSecret()}`,
  },
};
