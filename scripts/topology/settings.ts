/**
 * The production topology as data: which processes, how many, and their settings. `npm run topology` starts it, and
 * docker-compose.yml describes the same; test/compose compares both.
 */
import { TEMPORAL_SERVER_NAME } from '../../deploy/keys.mjs';
import { TEMPORAL_SETTINGS } from '../temporal-server/environment.ts';
import { MAX_CONNECTIONS } from '../temporal-server/postgres.ts';

/** The processes of each role, in the order in which they start. */
export const TEMPORAL_NODES = { history: 2, matching: 2, frontend: 2, worker: 1 } as const;
export const OUR_PROGRAMS = { simulator: 1, worker: 3, api: 2, 'codec-server': 1 } as const;

export const POSTGRES_SETTINGS = { max_connections: MAX_CONNECTIONS } as const;

/** For each of Temporal's processes. Both certificates are the same, and clients need one, too. */
export function nodeSettings(keysFolder: string) {
  return {
    ...TEMPORAL_SETTINGS,
    TEMPORAL_ALLOW_NO_AUTH: 'true',
    TEMPORAL_TLS_REQUIRE_CLIENT_AUTH: 'true',
    TEMPORAL_TLS_SERVER_CERT: `${keysFolder}/node.crt`,
    TEMPORAL_TLS_SERVER_KEY: `${keysFolder}/node.key`,
    TEMPORAL_TLS_SERVER_CA_CERT: `${keysFolder}/ca.crt`,
    TEMPORAL_TLS_INTERNODE_SERVER_NAME: TEMPORAL_SERVER_NAME,
    TEMPORAL_TLS_FRONTEND_CERT: `${keysFolder}/node.crt`,
    TEMPORAL_TLS_FRONTEND_KEY: `${keysFolder}/node.key`,
    TEMPORAL_TLS_FRONTEND_SERVER_NAME: TEMPORAL_SERVER_NAME,
    // The server reads both, and fails if one is missing.
    TEMPORAL_TLS_CLIENT1_CA_CERT: `${keysFolder}/ca.crt`,
    TEMPORAL_TLS_CLIENT2_CA_CERT: `${keysFolder}/ca.crt`,
  };
}

/** For each client of Temporal. */
export function clientSettings(keysFolder: string) {
  return {
    TEMPORAL_NAMESPACE: 'default',
    TEMPORAL_TLS: 'true',
    TEMPORAL_TLS_SERVER_NAME: TEMPORAL_SERVER_NAME,
    TEMPORAL_TLS_SERVER_CA_CERT_PATH: `${keysFolder}/ca.crt`,
    TEMPORAL_TLS_CLIENT_CERT_PATH: `${keysFolder}/tls.crt`,
    TEMPORAL_TLS_CLIENT_KEY_PATH: `${keysFolder}/tls.key`,
  };
}

/** For the Temporal UI. The names differ from those of clients. */
export function uiSettings(keysFolder: string) {
  return {
    TEMPORAL_TLS_CA: `${keysFolder}/ca.crt`,
    TEMPORAL_TLS_CERT: `${keysFolder}/tls.crt`,
    TEMPORAL_TLS_KEY: `${keysFolder}/tls.key`,
    TEMPORAL_TLS_ENABLE_HOST_VERIFICATION: 'true',
    TEMPORAL_TLS_SERVER_NAME: TEMPORAL_SERVER_NAME,
    // The browser sends the session of the codec server's sign-in page.
    TEMPORAL_CODEC_INCLUDE_CREDENTIALS: 'true',
  };
}

/** The simulator returns these codes. Those of a real provider come from its operator. */
const CREATE_CODES = '429:busy,30001:lock-expired,30002:insufficient,30005:refused';

export function workerSettings(keysFolder: string) {
  return {
    ...clientSettings(keysFolder),
    PAYMENTS_ENVIRONMENT: 'test',
    PAYMENTS_CREATE_CODES: CREATE_CODES,
    // The simulator's trade queries ignore the client.
    PAYMENTS_CLIENT_PAIRS: 'trusted',
    PAYOUTS_ENCRYPTION_KEYS: `file:${keysFolder}/payouts-encryption-keys`,
    PAYOUTS_TOKEN_KEYS: `file:${keysFolder}/payouts-token-keys`,
    PAYOUTS_AUTHORIZATION_KEYS: `file:${keysFolder}/payouts-authorization-keys`,
    PAYOUTS_SEARCH_KEYS: `file:${keysFolder}/payouts-search-keys`,
  };
}

export function apiSettings(keysFolder: string) {
  return {
    ...clientSettings(keysFolder),
    PAYMENTS_ENVIRONMENT: 'test',
    PAYMENTS_NOTIFICATION_VERIFIER: 'hmac-sha256',
    PAYOUTS_ENCRYPTION_KEYS: `file:${keysFolder}/payouts-encryption-keys`,
    PAYOUTS_AUTHORIZATION_KEYS: `file:${keysFolder}/payouts-authorization-keys`,
    PAYOUTS_SEARCH_KEYS: `file:${keysFolder}/payouts-search-keys`,
    PAYOUTS_API_KEYS_FILE: `${keysFolder}/callers.json`,
    PAYOUTS_DESK: 'on',
    PAYOUTS_DESK_SESSION_KEYS: `file:${keysFolder}/payouts-desk-session-keys`,
  };
}

export function codecSettings(keysFolder: string) {
  return {
    PAYMENTS_ENVIRONMENT: 'test',
    PAYOUTS_ENCRYPTION_KEYS: `file:${keysFolder}/payouts-encryption-keys`,
    PAYOUTS_CODEC_KEYS: `file:${keysFolder}/payouts-codec-keys`,
  };
}
