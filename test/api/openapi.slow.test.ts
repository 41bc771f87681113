import { Client, Connection } from '@temporalio/client';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { request } from 'undici';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import packageJson from '../../package.json' with { type: 'json' };
import { schemaFiles } from '../../scripts/write-schemas.ts';
import { apiConfig } from '../../src/config/api-config.ts';
import { REASON_CODES } from '../../src/contract/codes.ts';
import { FIELDS } from '../../src/contract/json-schema.ts';
import { PROBLEM_KINDS, problemType } from '../../src/contract/problems.ts';
import { isJsonObject } from '../../src/payments/exact-json.ts';
import type { OpenApiDocument } from '../../src/starters/api/openapi.ts';
import { buildServer } from '../../src/starters/api/server.ts';
import { eventually } from '../support/eventually.ts';
import { get, post, startApiServer, type TestApiServer } from '../support/http.ts';
import { documentOf } from '../support/operations.ts';
import { payoutRequest } from '../support/requests.ts';
import { newPartnerOrderId } from '../support/test-world.ts';
import { VirtualWorld } from '../support/virtual-world.ts';

const described = z.object({ description: z.string().optional() });
const parametersSchema = z.array(z.array(described.extend({ name: z.string(), schema: described })));

let world: VirtualWorld;
let service: TestApiServer;
let documented: OpenApiDocument;

beforeAll(async () => {
  world = await VirtualWorld.start();
  service = await startApiServer(world.client);
  documented = await documentOf(world.client);
});

afterAll(async () => {
  await service.close();
  await world.stop();
});

const document = () => documented;

/** The schemas of answers accept later fields. Here, each field of an answer must be in the document. */
function closed<T>(schema: T): T {
  if (typeof schema !== 'object' || schema === null) return schema;
  for (const part of Object.values(schema)) closed(part);
  if ('type' in schema && schema.type === 'object' && 'properties' in schema)
    Object.assign(schema, { additionalProperties: false, ...schema });
  return schema;
}

/** Resolves references within the whole document. */
function validatorOf(pointer: string): ValidateFunction {
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  ajv.addSchema(closed(JSON.parse(JSON.stringify(document()))), 'doc');
  const validate = ajv.getSchema(`doc#${pointer}`);
  if (!validate) throw new Error(`nothing at ${pointer}`);
  return validate;
}

function answerOf(path: string, method: string, status: number, type = 'application/json') {
  const steps = ['paths', path, method, 'responses', String(status), 'content', type, 'schema'];
  const escaped = steps.map((step) => step.replaceAll('~', '~0').replaceAll('/', '~1'));
  return validatorOf(escaped.map((step) => `/${encodeURIComponent(step)}`).join(''));
}

/** From Fastify's route tree: each line adds to the path of its parent line. */
function routesOf(tree: string): string[] {
  const paths: string[] = [];
  return tree.split('\n').flatMap((line) => {
    const [, branch = '', part = '', methods] = /^([│ ]*[├└]── )(\S+)(?: \(([A-Z, ]+)\))?/.exec(line) ?? [];
    const depth = branch.length / 4 - 1;
    if (part === '') return [];
    paths[depth] = (depth > 0 ? paths[depth - 1] : '') + part;
    const wanted = (methods ?? '').split(', ').filter((method) => method !== '' && method !== 'HEAD');
    return wanted.map((method) => `${method} ${paths[depth]}`);
  });
}

describe('/openapi.json', () => {
  test('names the version of the package', () => {
    expect(document().info.version).toBe(packageJson.version);
  });

  test('is served, conforms to OpenAPI 3.1, and contains valid schemas only', async () => {
    const answer = await get(`${service.url}/openapi.json`);
    expect(answer).toMatchObject({ status: 200, body: { openapi: '3.1.0' } });
    expect(answer.body).toEqual(JSON.parse(JSON.stringify(document())));
    const schemas: unknown[] = [];
    JSON.stringify(document(), (key, value: unknown) => {
      if (key === 'schema') schemas.push(value);
      return value;
    });
    expect(schemas.length).toBeGreaterThan(40);
    for (const name of Object.keys(document().components.schemas)) validatorOf(`/components/schemas/${name}`);
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    for (const schema of schemas) expect(ajv.validateSchema(JSON.parse(JSON.stringify(schema)))).toBe(true);
    const references = [...JSON.stringify(document()).matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)];
    for (const [, name = ''] of references) expect(document().components.schemas).toHaveProperty(name);
    const ids = Object.values(document().paths).flatMap((all) =>
      Object.values(all).map((o) => o.operationId),
    );
    expect(new Set(ids).size).toBe(ids.length);
  });

  test('lists exactly the existing routes', async () => {
    const nowhere = Connection.lazy({ address: '127.0.0.1:9' });
    const environment = { PAYMENTS_ENVIRONMENT: 'test', PAYMENTS_BASE_URL: 'http://127.0.0.1:9' };
    const config = apiConfig({ ...environment, PAYOUTS_LOG_LEVEL: 'silent' });
    const server = await buildServer(new Client({ connection: nowhere }), config);
    const there = routesOf(server.printRoutes({ commonPrefix: false })).filter(
      (route) => route !== 'GET /docs/scalar.js',
    );
    const listed = Object.entries(document().paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => ({
        method: method === 'get' ? ('GET' as const) : ('POST' as const),
        url: path.replaceAll(/\{(\w+)\}/g, ':$1'),
      })),
    );
    expect(there.length).toBe(listed.length);
    const lines = listed.map(({ method, url }) => `${method} ${url}`);
    for (const route of there) expect(lines).toContain(route);
    for (const route of listed) expect(server.hasRoute(route)).toBe(true);
    await server.close();
    await nowhere.close();
  });

  test('describes the actual responses', async () => {
    const wanted = payoutRequest(newPartnerOrderId(), { platform: 'sim:success' });
    const payouts = `${service.url}/v1/payouts`;
    expect(validatorOf('/components/schemas/PayoutRequest')(wanted)).toBe(true);
    const started = await post(payouts, wanted);
    expect(answerOf('/v1/payouts', 'post', 202)(started.body)).toBe(true);
    const address = `${payouts}/${wanted.partnerOrderId}`;
    const ended = await eventually(async () => {
      const answer = await get(address);
      return JSON.stringify(answer.body).includes('"result"') ? answer : undefined;
    });
    const known = answerOf('/v1/payouts/{partnerOrderId}', 'get', 200);
    expect(known(ended.body), JSON.stringify(known.errors)).toBe(true);
    const invalid = answerOf('/v1/payouts', 'post', 400, 'application/problem+json');
    expect(invalid((await post(payouts, {})).body), JSON.stringify(invalid.errors)).toBe(true);
    const unknown = answerOf('/v1/payouts/{partnerOrderId}', 'get', 404, 'application/problem+json');
    expect(unknown((await get(`${payouts}/nobody`)).body), JSON.stringify(unknown.errors)).toBe(true);
  });

  test('describes the responses for quotes and accounts', async () => {
    const quoted = await post(`${service.url}/v1/quotes`, payoutRequest(newPartnerOrderId()));
    expect(quoted.status).toBe(200);
    const quote = answerOf('/v1/quotes', 'post', 200);
    expect(quote(quoted.body), JSON.stringify(quote.errors)).toBe(true);
    const found = await get(`${service.url}/v1/accounts?clientId=client-1`);
    expect(found.status).toBe(200);
    const accounts = answerOf('/v1/accounts', 'get', 200);
    expect(accounts(found.body), JSON.stringify(accounts.errors)).toBe(true);
    expect(await get(`${service.url}/v1/accounts`)).toMatchObject({
      status: 400,
      body: { errors: [{ path: 'clientId' }] },
    });
  });

  test('describes the responses for a batch', async () => {
    const payouts = [payoutRequest(newPartnerOrderId(), { platform: 'sim:success' })];
    const started = await post(`${service.url}/v1/payout-batches`, { batchId: 'documented', payouts });
    const valid = answerOf('/v1/payout-batches', 'post', 202);
    expect(valid(started.body), JSON.stringify(valid.errors)).toBe(true);
  });
});

describe('what the document says', () => {
  /** The fields of a schema without a description, by path. */
  function undescribed(schema: unknown, at: string): string[] {
    if (!isJsonObject(schema)) return [];
    const fields = isJsonObject(schema['properties']) ? Object.entries(schema['properties']) : [];
    const below = ['items', 'additionalProperties', 'allOf', 'anyOf', 'oneOf'].flatMap((keyword) =>
      [schema[keyword]].flat().flatMap((inner) => undescribed(inner, at)),
    );
    return below.concat(
      fields.flatMap(([name, field]) => [
        ...(isJsonObject(field) && ('$ref' in field || field['description']) ? [] : [`${at}.${name}`]),
        ...undescribed(field, `${at}.${name}`),
      ]),
    );
  }

  const whole = () => JSON.parse(JSON.stringify(document()));

  /** What `read` finds in each value under `wanted`, anywhere in the document. */
  function under(wanted: string, read: (value: unknown) => string[]): string[] {
    const found: string[] = [];
    JSON.stringify(document().paths, (key, value: unknown) => {
      if (key === wanted) found.push(...read(value));
      return value;
    });
    return found;
  }

  function undescribedParameters(parameters: unknown): string[] {
    return parametersSchema
      .parse(plain([parameters]))
      .flat()
      .filter(({ description, schema }) => !description && !schema.description)
      .map(({ name }) => name);
  }

  test('every field and every parameter has a description, and no description is unused', () => {
    const named = { ...whole().components.schemas, ...schemaFiles() };
    const missing = Object.entries(named).flatMap(([name, schema]) => undescribed(plain(schema), name));
    expect(missing).toEqual([]);
    expect(under('schema', (schema) => undescribed(schema, ''))).toEqual([]);
    expect(under('parameters', undescribedParameters)).toEqual([]);
    const text = JSON.stringify([whole(), schemaFiles()]);
    const unused = Object.entries(FIELDS).filter(([, meaning]) => !text.includes(JSON.stringify(meaning)));
    expect(unused).toEqual([]);
  });

  test('amounts are text in major units, with the currency beside them', () => {
    const { components } = whole();
    const { amount, currency } = components.schemas.PayoutRequest.properties.instructedAmount.properties;
    expect(amount).toMatchObject({ type: 'string', description: expect.stringContaining('major units') });
    expect(currency.description).toContain('ISO 4217');
  });

  test('every reason code and every kind of problem is in it', () => {
    const { components } = whole();
    expect(components.schemas.ReasonCode.examples).toEqual([...REASON_CODES]);
    expect(components.schemas.PayoutResult.properties.reason.properties.code.examples).toEqual([
      ...REASON_CODES,
    ]);
    expect(components.schemas.Problem.properties.type.examples).toEqual(PROBLEM_KINDS.map(problemType));
  });

  test('its server is the one that serves it, and every response but a redirect has content', () => {
    const { servers, paths } = whole();
    // The default of OpenAPI.
    expect(servers).toBeUndefined();
    for (const [path, methods] of Object.entries<object>(paths))
      for (const { responses } of Object.values(methods))
        for (const [status, answer] of Object.entries(responses))
          if (status !== '302') expect(answer, `${path} ${status}`).toHaveProperty('content');
  });

  test('the body of a notification, and its answers', async () => {
    const path = '/v1/notifications/{app}';
    const accepts = validatorOf(
      `/paths/${encodeURIComponent(path.replaceAll('/', '~1'))}/post/requestBody/content/${encodeURIComponent('application~1json')}/schema`,
    );
    const notification = { orderId: 'PO-1', partnerOrderId: 'p-1', status: 'SUCCESS', more: { any: 1 } };
    expect(accepts(notification)).toBe(true);
    const taken = await post(`${service.url}/v1/notifications/default`, notification);
    const received = answerOf(path, 'post', 202);
    expect(received(taken.body), JSON.stringify(received.errors)).toBe(true);
    const unusable = await post(`${service.url}/v1/notifications/default`, {});
    const problem = answerOf(path, 'post', 400, 'application/problem+json');
    expect(problem(unusable.body), JSON.stringify(problem.errors)).toBe(true);
  });

  test.each([
    [413, 'application/json', JSON.stringify({ note: 'x'.repeat(70_000) })],
    [415, 'text/plain', 'hello'],
    [400, 'application/json', '{'],
  ])('the answer %s to a bad body', async (status, type, body) => {
    const url = `${service.url}/v1/payouts`;
    const answer = await request(url, { method: 'POST', headers: { 'content-type': type }, body });
    expect(answer.statusCode).toBe(status);
    const valid = answerOf('/v1/payouts', 'post', status, 'application/problem+json');
    expect(valid(await answer.body.json()), JSON.stringify(valid.errors)).toBe(true);
  });
});

const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

test('/docs is a page of the document, whose script comes from this server', async () => {
  const { status, headers, body } = await get(`${service.url}/docs`);
  expect(status).toBe(200);
  const policy = String(headers['content-security-policy']);
  expect(policy).toMatch("default-src 'none'");
  expect(policy).toMatch("script-src 'self';");
  expect(policy).not.toMatch(/https?:|\*|unsafe-eval|script-src[^;]*unsafe/);
  const page = String(body);
  expect(page).toContain('data-url="/openapi.json"');
  expect([...page.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, link]) => link)).toEqual([
    '/openapi.json',
    '/docs/scalar.js',
  ]);
  const script = await request(`${service.url}/docs/scalar.js`);
  expect(script.headers['content-type']).toMatch('text/javascript');
  expect((await script.body.text()).length).toBeGreaterThan(1_000_000);
  expect((await get(`${service.url}/openapi.json`)).headers).not.toHaveProperty('content-security-policy');
});
