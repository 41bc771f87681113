import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freePorts } from '../../scripts/dev-server/ports.ts';
import type { Environment } from '../../src/config/environment.ts';
import { EventEndpoint, eventsFile } from '../support/event-endpoint.ts';
import { eventually } from '../support/eventually.ts';
import { get, post } from '../support/http.ts';
import { newKey } from '../support/keys.ts';
import { PayoutWorld } from '../support/payout-world.ts';
import { type OwnProcess, startProgram } from '../support/processes.ts';
import { payoutRequest } from '../support/requests.ts';
import { newPartnerOrderId } from '../support/test-world.ts';
import { type CollectedSpan, type OtlpCollector, startOtlpCollector } from './otlp-collector.ts';

const CALLER_TRACE = '0af7651916cd43dd8448eb211c80319c';
const CALLER_SPAN = 'b7ad6b7169203331';

describe('a traced payout', () => {
  let collector: OtlpCollector;
  let endpoint: EventEndpoint;
  let world: PayoutWorld;
  let worker: OwnProcess;
  let api: OwnProcess;
  let apiUrl: string;
  const { partnerOrderId } = payoutRequest(newPartnerOrderId());
  let ours: CollectedSpan[];

  beforeAll(async () => {
    [collector, endpoint] = await Promise.all([startOtlpCollector(), EventEndpoint.start()]);
    const keys = { PAYOUTS_ENCRYPTION_KEYS: newKey('k1'), PAYOUTS_TOKEN_KEYS: newKey('t1') };
    world = await PayoutWorld.start({
      idle: true,
      // Only a notification leads to the outcome.
      env: { ...keys, PAYOUTS_POLL_FIRST: '1h', PAYOUTS_POLL_MAX: '1h' },
    });
    const [port = 0] = await freePorts(1);
    apiUrl = `http://127.0.0.1:${port}`;
    const traced = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_BSP_SCHEDULE_DELAY: '200' };
    const environment: Environment = { ...world.workerEnvironment, ...traced };
    const { PAYOUTS_TOKEN_KEYS: _tokenKeys, ...apiEnvironment } = environment;
    [worker, api] = await Promise.all([
      startProgram(
        'src/workers/main.ts',
        { ...environment, PAYOUTS_EVENTS_FILE: eventsFile([{ url: endpoint.url }]) },
        /worker ready/,
      ),
      startProgram(
        'src/starters/api/main.ts',
        { ...apiEnvironment, PAYOUTS_API_LISTEN: `127.0.0.1:${port}` },
        /API server listening on/,
      ),
    ]);
    const request = payoutRequest(partnerOrderId, { platform: 'sim:success final=0s' });
    const traceparent = `00-${CALLER_TRACE}-${CALLER_SPAN}-01`;
    await post(`${apiUrl}/v1/payouts`, request, { traceparent });
    await eventually(async () => {
      const { body } = await get(`${apiUrl}/v1/payouts/${partnerOrderId}`);
      return JSON.stringify(body).includes('"PROCESSING"') || undefined;
    });
    await post(`${apiUrl}/v1/notifications/default`, { partner_order_id: partnerOrderId });
    await endpoint.until(partnerOrderId, 'payout.completed');
    ours = await eventually(async () => {
      const known = collector.spans.filter(({ traceId }) => traceId === CALLER_TRACE);
      const names = known.map(({ name }) => name);
      const last = ['RunWorkflow:payout', 'deliver event', 'HandleSignal:publish'];
      return last.every((name) => names.includes(name)) ? known : undefined;
    });
  });
  afterAll(async () => {
    await Promise.all([worker?.stop('SIGTERM'), api?.stop('SIGTERM')]);
    await world?.stop();
    await endpoint?.stop();
    await collector?.close();
  });

  const one = (name: string): CollectedSpan => {
    const [found] = ours.filter((span) => span.name === name);
    if (!found) throw new Error(`no span ${name} among ${ours.map((span) => span.name).join(', ')}`);
    return found;
  };
  /** The names from the span up to the caller's own. */
  const pathOf = (span: CollectedSpan): string[] => {
    const parent = ours.find(({ spanId }) => spanId === span.parentSpanId);
    return [span.name, ...(parent ? pathOf(parent) : [span.parentSpanId ?? 'none'])];
  };

  test('is one trace from the caller over HTTP, start, workflow and activity to the call of the provider', () => {
    expect(pathOf(one('provider createPayout'))).toEqual([
      'provider createPayout',
      'RunActivity:createPayout',
      'RunWorkflow:payout',
      'StartWorkflow:payout',
      'POST /v1/payouts',
      CALLER_SPAN,
    ]);
    expect(one('POST /v1/payouts').service).toBe('api');
    expect(one('provider createPayout').service).toBe('worker');
    for (const span of ours) expect(pathOf(span).at(-1)).toBe(CALLER_SPAN);
  });

  test('shows the notification in the trace of the payout, linked to the request that brought it', async () => {
    const handled = one('HandleSignal:notification');
    expect(pathOf(handled)).toContain('RunWorkflow:payout');
    const [link] = handled.links;
    const signal = await eventually(async () =>
      collector.spans.find(({ spanId }) => spanId === link?.spanId),
    );
    const request = await eventually(async () =>
      collector.spans.find(({ spanId }) => spanId === signal.parentSpanId),
    );
    expect(request.name).toBe('POST /v1/notifications/{app}');
    expect(request.traceId).not.toBe(CALLER_TRACE);
  });

  test('continues to the endpoint that receives the event', () => {
    expect(pathOf(one('deliver event'))).toContain('RunActivity:publishEvents');
    const [received] = endpoint.of(partnerOrderId);
    const [, traceId, spanId] = received?.headers['traceparent']?.split('-') ?? [];
    expect(traceId).toBe(CALLER_TRACE);
    expect(one('deliver event').spanId).toBe(spanId);
  });

  test('holds no personal data', () => {
    const { receiver, payerId } = payoutRequest(partnerOrderId);
    const sent = collector.received.join('\n');
    for (const personal of [receiver.bankAccountNumber, receiver.bankAccountName, payerId])
      expect(sent).not.toContain(personal);
    expect(sent).toContain(partnerOrderId);
  });
});
