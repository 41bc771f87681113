/** The sections of docs/configuration.md, with the schema behind each table. */

import { simulatorShape } from '../../simulator/settings.ts';
import { apiShape } from '../../src/config/api-config.ts';
import { applicationEntry, applicationShape } from '../../src/config/applications.ts';
import { approvalsFile, callerSchema, nexusEntry, nexusShape } from '../../src/config/callers.ts';
import { clientShape, cliShape } from '../../src/config/client-config.ts';
import { codecShape } from '../../src/config/codec-config.ts';
import { workerShape } from '../../src/config/config.ts';
import { endpointEntry, eventsShape } from '../../src/config/events.ts';
import { keyShape } from '../../src/config/keys.ts';
import { temporalShape } from '../../src/config/temporal-config.ts';
import { commandShape, composeShape, testShape } from './commands.ts';
import type { Shape } from './variables.ts';

export interface Section {
  title: string;
  text?: string;
  tables: readonly { title?: string; head?: 'Field'; shape: Shape; after?: string }[];
}

const { PAYOUTS_TOKEN_KEYS: _onlyForWorkers, ...apiKeyShape } = keyShape;
const { PAYOUTS_ENCRYPTION_KEYS, PAYOUTS_SEARCH_KEYS } = keyShape;
const clientKeyShape: Shape = { PAYOUTS_ENCRYPTION_KEYS, PAYOUTS_SEARCH_KEYS };

const {
  PAYMENTS_ENVIRONMENT,
  PAYMENTS_BASE_URL,
  PAYMENTS_AUTH_URL,
  PAYMENTS_ALLOWED_HOSTS,
  ...furtherWorkerShape
} = workerShape;

/** In the order in which an operator sets them. */
const wholeWorkerShape: Shape = {
  PAYMENTS_ENVIRONMENT,
  PAYMENTS_BASE_URL,
  PAYMENTS_AUTH_URL,
  PAYMENTS_ALLOWED_HOSTS,
  ...applicationShape,
  ...nexusShape,
  ...eventsShape,
  ...furtherWorkerShape,
};

const CALLS: readonly string[] = Object.keys(wholeWorkerShape).filter(
  (name) => name.startsWith('PAYMENTS_') || name in applicationShape,
);

/** By process: every variable that it reads. */
export const PROCESSES = {
  worker: { ...temporalShape, ...keyShape, ...wholeWorkerShape },
  'API server': { ...temporalShape, ...apiKeyShape, ...apiShape },
  'codec server': { PAYOUTS_ENCRYPTION_KEYS, ...codecShape },
  CLI: { ...temporalShape, ...clientKeyShape, ...clientShape, ...cliShape },
  'client library': { ...temporalShape, ...clientKeyShape, ...clientShape },
  simulator: simulatorShape,
} satisfies Record<string, Shape>;

/** Content of `PAYOUTS_APPS_FILE`. */
export const APPLICATIONS_EXAMPLE = `{
  "east": { "appId": "app-1001", "appSecret": "file:/run/secrets/east-app-secret" },
  "west": {
    "appId": "app-1002",
    "appSecret": "env:WEST_APP_SECRET",
    "redirectUri": "https://payouts.example/v1/oauth/west/callback",
    "callsPerSecond": 40
  }
}`;

/** Content of the file of `payouts settings --approvals`. */
export const APPROVALS_EXAMPLE = `{
  "applications": { "east": { "CNY": "100000.00", "USD": "15000.00" } },
  "callers": { "shop": { "CNY": "5000.00" } }
}`;

/** Content of `PAYOUTS_NEXUS_FILE`. */
export const NEXUS_EXAMPLE = `{
  "east": {
    "largestAmount": { "CNY": "50000.00" },
    "dailyAmount": { "CNY": "200000.00" },
    "clientIds": ["client-7"],
    "payerIds": ["payer-7"]
  }
}`;

/** Content of `PAYOUTS_EVENTS_FILE`. The secret is published: only a test may use it. */
export const EVENTS_EXAMPLE = `[
  {
    "name": "shop",
    "application": "default",
    "url": "https://shop.example/payout-events",
    "types": ["payout.completed", "payout.needs_attention", "payout.attention_cleared"],
    "secrets": ["whsec_ZXhhbXBsZS1leGFtcGxlLWV4YW1wbGUtZXhhbXBsZS0="]
  },
  {
    "name": "books",
    "application": "default",
    "url": "https://books.internal.example/payouts",
    "secrets": ["file:/run/secrets/books-new", "file:/run/secrets/books-old"],
    "allowPrivateAddress": true
  }
]`;

/** Content of `PAYOUTS_API_KEYS_FILE`. The hash is that of `trial-starter`, as in `deploy/trial-callers.json`. */
export const CALLERS_EXAMPLE = `[
  {
    "name": "shop",
    "keySha256": ["1e41a4ea936f36cc0077fa4db5994c8166baa4955c57e75821353fa4de3d9376"],
    "applications": ["default"],
    "verbs": ["start", "read", "cancel"],
    "largestAmount": { "CNY": "50000.00", "USD": "7000.00" },
    "dailyAmount": { "CNY": "500000.00", "USD": "70000.00" },
    "dailyCount": 200
  }
]`;

export const SECTIONS: readonly Section[] = [
  {
    title: 'Temporal',
    text: "Workers, the API server, the CLI and the client library read [Temporal's own variables](https://docs.temporal.io/references/client-environment-configuration). `TEMPORAL_GRPC_META_NAME` adds the gRPC header `name`.",
    tables: [{ shape: temporalShape }],
  },
  {
    title: 'Encryption keys',
    text: 'To create and rotate keys, see [Operations](operations.md#encryption-keys).',
    tables: [{ shape: keyShape }],
  },
  {
    title: 'Worker',
    text: '`npm run worker`. It also reads [Temporal](#temporal) and all [encryption keys](#encryption-keys).',
    tables: [
      { title: 'The provider and the application', shape: only(CALLS) },
      {
        title: 'Payouts and the process',
        shape: only(Object.keys(wholeWorkerShape).filter((name) => !CALLS.includes(name))),
      },
    ],
  },
  {
    title: 'API server',
    text: '`npm run api`. It also reads [Temporal](#temporal), `PAYOUTS_ENCRYPTION_KEYS`, `PAYOUTS_AUTHORIZATION_KEYS` and `PAYOUTS_SEARCH_KEYS`.',
    tables: [{ shape: apiShape }],
  },
  {
    title: 'CLI and client library',
    text: '`npm run payouts`, the `payouts` bin, and `connectPayouts()`, whose [options](client.md#where-it-connects) override the variables. Both also read [Temporal](#temporal), `PAYOUTS_ENCRYPTION_KEYS` and `PAYOUTS_SEARCH_KEYS`.',
    tables: [{ shape: clientShape }, { title: 'Only the CLI', shape: cliShape }],
  },
  {
    title: 'Codec server',
    text: '`npm run codec-server`. It also reads `PAYOUTS_ENCRYPTION_KEYS`.',
    tables: [{ shape: codecShape }],
  },
  {
    title: 'Simulator',
    text: '`npm run simulator`. See [The simulator](simulator.md).',
    tables: [{ shape: simulatorShape }],
  },
  {
    title: 'Demo, tests and other commands',
    text: 'Where the commands find what they need.',
    tables: [
      { shape: commandShape },
      { title: 'Single tests', shape: testShape },
      { title: 'Docker Compose', shape: composeShape },
    ],
  },
  {
    title: 'PAYOUTS_APPS_FILE',
    text: "A JSON object of applications by name (1 to 32 lowercase letters, digits and hyphens). Workers read it at startup, and don't start if it's invalid.",
    tables: [{ head: 'Field', shape: applicationEntry.shape, after: json(APPLICATIONS_EXAMPLE) }],
  },
  {
    title: 'The approvals file',
    text: 'Which payouts require an [approval](how-it-works.md#approvals), whatever their request says: a JSON object for `payouts settings --approvals FILE`, one of the [shared settings](operations.md#shared-settings). The stricter of the two limits applies.',
    tables: [{ head: 'Field', shape: approvalsFile.shape, after: json(APPROVALS_EXAMPLE) }],
  },
  {
    title: 'PAYOUTS_API_KEYS_FILE',
    text: 'A JSON list of callers. [HTTP](http.md#keys) says how to create keys, and when changes take effect.',
    tables: [{ head: 'Field', shape: callerSchema.shape, after: json(CALLERS_EXAMPLE) }],
  },
  {
    title: 'PAYOUTS_NEXUS_FILE',
    text: "A JSON object, by application, of what [Nexus](nexus.md) calls may pay. Workers read it at startup, and don't start if it's invalid.",
    tables: [{ head: 'Field', shape: nexusEntry.shape, after: json(NEXUS_EXAMPLE) }],
  },
  {
    title: 'PAYOUTS_EVENTS_FILE',
    text: "A JSON list of the endpoints that get [events](events.md). Workers read it at startup, and don't start if it's invalid; see how to make [changes](events.md#name-endpoints).",
    tables: [{ head: 'Field', shape: endpointEntry.shape, after: json(EVENTS_EXAMPLE) }],
  },
];

function only(names: readonly string[]): Shape {
  return Object.fromEntries(Object.entries(wholeWorkerShape).filter(([name]) => names.includes(name)));
}

function json(example: string): string {
  return `\`\`\`json\n${example}\n\`\`\``;
}
