import { describe, expect, test } from 'vitest';
import { EVENTS_EXAMPLE } from '../../scripts/configuration/sections.ts';
import { workerConfig } from '../../src/config/config.ts';
import type { Environment } from '../../src/config/environment.ts';
import { wantedTypes } from '../../src/config/events.ts';
import { configProblems } from '../support/config-problems.ts';
import { eventsFile, hmacSecret } from '../support/event-endpoint.ts';
import { newKey, newSecret } from '../support/keys.ts';
import { secretFile } from '../support/secret-file.ts';

const TEST: Environment = {
  PAYMENTS_ENVIRONMENT: 'test',
  PAYMENTS_BASE_URL: 'http://127.0.0.1:9',
  PAYMENTS_AUTH_URL: 'http://127.0.0.1:9',
  PAYMENTS_APP_ID: 'app-1',
  PAYMENTS_APP_SECRET: 'secret-1',
};
const SANDBOX: Environment = {
  ...TEST,
  PAYMENTS_ENVIRONMENT: 'sandbox',
  PAYMENTS_APP_SECRET: newSecret(),
  PAYMENTS_BASE_URL: 'https://api.provider.example',
  PAYMENTS_AUTH_URL: 'https://api.provider.example',
  PAYMENTS_ALLOWED_HOSTS: 'api.provider.example',
  PAYOUTS_ENCRYPTION_KEYS: newKey('p1'),
  PAYOUTS_TOKEN_KEYS: newKey('t1'),
};
const URL = 'https://shop.example/events';

function problemsOf(environment: Environment, file: string): string[] {
  return configProblems(() => workerConfig({ ...environment, PAYOUTS_EVENTS_FILE: file }));
}

const endpoint = (over: Record<string, unknown> = {}) => eventsFile([{ url: URL, ...over }]);

describe('PAYOUTS_EVENTS_FILE', () => {
  test('without it, no application publishes events', () => {
    expect(wantedTypes(workerConfig(TEST).events, 'default')).toBeUndefined();
  });

  test('an application publishes what one of its endpoints wants', () => {
    const file = eventsFile([
      { url: URL, types: ['payout.completed'] },
      { name: 'ops', url: URL, types: ['payout.needs_attention', 'payout.attention_cleared'] },
    ]);
    const { events } = workerConfig({ ...TEST, PAYOUTS_EVENTS_FILE: file });
    expect(wantedTypes(events, 'default')).toEqual([
      'payout.completed',
      'payout.needs_attention',
      'payout.attention_cleared',
    ]);
    expect(wantedTypes(events, 'other')).toBeUndefined();
  });

  test('a secret may be in a file, and two sign while one is replaced', () => {
    const secrets = [hmacSecret(), `file:${secretFile(`${hmacSecret()}\n`)}`];
    expect(problemsOf(SANDBOX, endpoint({ secrets }))).toEqual([]);
  });

  test.each<[string, Record<string, unknown>, string]>([
    ['an unknown field', { retries: 3 }, '0'],
    ['a name with capitals', { name: 'Shop' }, '0.name must be 1 to 32 lowercase letters'],
    ['an unknown application', { application: 'other' }, '0.application is not configured'],
    ['an unknown type', { types: ['payout.paid'] }, '0.types.0'],
    ['no type', { types: [] }, '0.types'],
    ['no secret', { secrets: [] }, '0.secrets'],
    ['three secrets', { secrets: [hmacSecret(), hmacSecret(), hmacSecret()] }, '0.secrets'],
    ['a short secret', { secrets: ['whsec_c2hvcnQ='] }, '0.secrets.0 must be whsec_'],
    ['a missing file', { secrets: ['file:/none'] }, '0.secrets.0 names a file that cannot be read'],
    ['no URL', { url: 'shop' }, '0.url must be an http or https URL'],
    ['a URL with a password', { url: 'https://a:b@shop.example/' }, '0.url must not contain a user'],
    ['a link-local address', { url: 'https://169.254.169.254/' }, '0.url has an address that is not allowed'],
  ])('refuses %s, and names the field', (_what, over, problem) => {
    const [found = '', ...others] = problemsOf(TEST, endpoint(over));
    expect(found).toContain(`PAYOUTS_EVENTS_FILE: ${problem}`);
    expect(others).toEqual([]);
  });

  test('refuses the same name twice in an application', () => {
    const file = eventsFile([{ url: URL }, { url: URL }]);
    expect(problemsOf(TEST, file)).toEqual(['PAYOUTS_EVENTS_FILE: 1.name appears twice in its application']);
  });

  test('H165 refuses http and private addresses outside a test', () => {
    expect(problemsOf(SANDBOX, endpoint({ url: 'http://shop.example/' }))[0]).toContain(
      '0.url must be https',
    );
    const loopback = { url: 'https://127.0.0.1/', allowPrivateAddress: false };
    expect(problemsOf(SANDBOX, endpoint(loopback))[0]).toContain('see allowPrivateAddress');
    expect(problemsOf(SANDBOX, endpoint({ ...loopback, allowPrivateAddress: true }))).toEqual([]);
  });

  test('refuses published secrets outside a test, and never quotes a secret', () => {
    const example = /whsec_[A-Za-z0-9+/=]+/.exec(EVENTS_EXAMPLE)?.[0] ?? '';
    const file = endpoint({ secrets: [example] });
    expect(problemsOf(TEST, file)).toEqual([]);
    const [problem = ''] = problemsOf(SANDBOX, file);
    expect(problem).toContain('PAYOUTS_EVENTS_FILE: 0.secrets.0: is published with this project');
    expect(problem).not.toContain(example.slice(8));
  });
});
