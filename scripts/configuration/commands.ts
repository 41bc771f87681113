/** Variables of the commands for development and of Docker Compose, which no program parses as a whole. */
import { z } from 'zod';

const text = (description: string) => z.string().optional().describe(description);
const path = (description: string) => z.string().optional().meta({ description, valueType: 'path' });
const count = (description: string) => z.string().optional().meta({ description, valueType: 'integer' });
const anyText = (description: string) => z.string().optional().meta({ description, valueType: 'any text' });

export const commandShape = {
  TEMPORAL_ADDRESS: z.string().optional().meta({
    description:
      'A running Temporal server, for `npm run demo` and `npm test`. Default: they start a dev server.',
    valueType: '`host:port`',
  }),
  TEMPORAL_NAMESPACE: text('Its namespace. Default: `default`.'),
  TEMPORAL_CLI_PATH: path(
    "The Temporal CLI, with the dev server. Default: from PATH, the cache folder or the SDK's download; otherwise built with Go.",
  ),
  TEMPORAL_SERVER_PATH: path(
    'The Temporal server for `npm run temporal-server` and `npm run topology`. Default: built with Go.',
  ),
  TEMPORAL_SQL_TOOL_PATH: path('The `temporal-sql-tool` for both commands. Default: built with Go.'),
  TEMPORAL_UI_SERVER_PATH: path("The Temporal UI's server for `npm run topology`. Default: built with Go."),
  KUSTOMIZE_PATH: path('Kustomize, for `test/kubernetes`. Default: built with Go.'),
  DURABLE_PAYOUTS_CACHE: path(
    'The folder for downloads and builds. Default: `durable-payouts` in `XDG_CACHE_HOME`.',
  ),
  XDG_CACHE_HOME: path("The user's cache folder. Default: `~/.cache`."),
  CHROME_PATH: path('Chromium, for tests of web pages. Default: from PATH, otherwise from the npm registry.'),
  CI: anyText(
    'Marks a CI machine. There, as root, `npm test` may install Chromium with `apt-get` as a last resort.',
  ),
};

/** What makes single tests larger, or keeps what they saw. */
export const testShape = {
  CANARY_DATABASE: z
    .enum(['postgres'])
    .optional()
    .describe('Searches the rows of a PostgreSQL in `test/canary`.'),
  CLOCK_CAMPAIGN_SECONDS: count(
    'How long workers are killed in `test/process/kills-and-queries.full.test.ts`.',
  ),
  RAW_QUERIES: anyText('Also reads by plain queries in `test/process/queries.full.test.ts`.'),
  RECORD_HISTORIES: count('Adds the recorded histories to `test/histories` as this generation.'),
  SHORT_TOKENS: anyText('Runs `test/process/queries.full.test.ts` with more payouts and short-lived tokens.'),
  UI_PICTURES: path('The folder in which `test/ui` keeps its pictures.'),
};

/** What `docker-compose.yml` takes from the environment. */
export const composeShape = {
  PAYMENTS_APP_ID: z
    .string()
    .default('demo-app')
    .describe('The application, for the worker and the simulator.'),
  PAYMENTS_APP_SECRET: z
    .string()
    .default('demo-secret')
    .describe("Its secret, as text: it can't be `file:PATH`."),
  PAYMENTS_NOTIFICATION_SECRETS: z
    .string()
    .default('trial-notification-secret')
    .describe('Signs and verifies notifications.'),
  GRAFANA_PASSWORD: z.string().default('grafana').describe("The password of Grafana's user `admin`."),
  POSTGRES_PASSWORD: z.string().default('temporal').describe("The password of Temporal's database."),
};
