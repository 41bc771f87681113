/**
 * Sends notifications to applications, with a few retries, and logs every attempt. They are signed in the style of Standard
 * Webhooks.
 */

import { createHmac } from 'node:crypto';
import { Agent, request } from 'undici';
import { writeJson } from './json.ts';
import { isoTime, type Runtime, sleep } from './runtime.ts';
import type { Settings } from './settings.ts';
import { RingLog } from './state/ledger.ts';

export interface Notification {
  appId: string;
  orderId: string | undefined;
  partnerOrderId: string | undefined;
  status: string;
  /** `forged` signs with a random key, `none` does not sign. */
  signature?: 'right' | 'forged' | 'none' | undefined;
  /** Replaces the body built from the fields. */
  rawBody?: string | undefined;
}

export interface NotificationRecord {
  at: string;
  partnerOrderId: string | null;
  mode: string;
  attempt: number;
  body: string;
  /** HTTP status of the receiver, or why there is none. */
  outcome: number | string;
}

export interface NotifierParts {
  runtime: Runtime;
  transport: NotificationTransport;
  settings: () => Settings;
  notifyUrlOf: (appId: string) => string | undefined;
}

const KEPT_RECORDS = 20_000;

export class Notifier {
  readonly log = new RingLog<NotificationRecord>(KEPT_RECORDS);
  readonly #parts: NotifierParts;
  #closed = false;

  constructor(parts: NotifierParts) {
    this.#parts = parts;
  }

  lose(notification: Notification): void {
    this.#record(notification, 'lost', 0, 'lost');
  }

  /** Resolves once the receiver answers 2xx or no retries are left. Never rejects. */
  async send(notification: Notification, mode: string): Promise<void> {
    const url = this.#parts.notifyUrlOf(notification.appId);
    if (url === undefined) return;
    const settings = this.#parts.settings();
    const { clock, random } = this.#parts.runtime;
    const id = `msg_${random.uuid()}`;
    for (const [retry, delayMs] of [0, ...settings.notificationBackoffMs].entries()) {
      if (delayMs > 0) await sleep(clock, delayMs);
      if (this.#closed) return;
      const outcome = await this.#attempt(url, id, notification, settings);
      this.#record(notification, mode, retry + 1, outcome);
      if (typeof outcome === 'number' && outcome >= 200 && outcome < 300) return;
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#parts.transport.close();
  }

  async #attempt(
    url: string,
    id: string,
    notification: Notification,
    settings: Settings,
  ): Promise<number | string> {
    const body = bodyOf(notification, settings);
    try {
      const headers = {
        'content-type': 'application/json',
        ...this.#signed(notification, id, body, settings),
      };
      return await this.#parts.transport.deliver({ url, headers, body }, settings.notificationTimeoutMs);
    } catch (error) {
      return error instanceof Error ? error.message : 'failed';
    }
  }

  #signed(notification: Notification, id: string, body: string, settings: Settings): Record<string, string> {
    const { clock, random } = this.#parts.runtime;
    const how = notification.signature ?? 'right';
    if (settings.notificationSecret === '' || how === 'none') return {};
    const secret = how === 'right' ? settings.notificationSecret : `forged-${random.uuid()}`;
    return signatureHeaders(secret, id, clock.wallMs(), body);
  }

  #record(notification: Notification, mode: string, attempt: number, outcome: number | string): void {
    this.log.add({
      at: isoTime(this.#parts.runtime.clock.wallMs()),
      partnerOrderId: notification.partnerOrderId ?? null,
      mode,
      attempt,
      body: bodyOf(notification, this.#parts.settings()),
      outcome,
    });
  }
}

function bodyOf(notification: Notification, settings: Settings): string {
  const { orderId, partnerOrderId, status, rawBody } = notification;
  if (rawBody !== undefined) return rawBody;
  return settings.notificationStyle === 'camel'
    ? writeJson({ orderId, partnerOrderId, status })
    : writeJson({ order_id: orderId, partner_order_id: partnerOrderId, status });
}

export interface NotificationRequest {
  url: string;
  headers: Record<string, string>;
  body: string;
}

export interface NotificationTransport {
  /** Returns the receiver's HTTP status. Rejects if none comes in time. */
  deliver(notification: NotificationRequest, timeoutMs: number): Promise<number>;
  /** Aborts open requests. */
  close(): Promise<void>;
}

export class HttpTransport implements NotificationTransport {
  readonly #agent = new Agent({ keepAliveTimeout: 1000 });

  async deliver({ url, headers, body }: NotificationRequest, timeoutMs: number): Promise<number> {
    const answer = await request(url, {
      method: 'POST',
      dispatcher: this.#agent,
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs,
      headers,
      body,
    });
    await answer.body.dump();
    return answer.statusCode;
  }

  close(): Promise<void> {
    return this.#agent.destroy();
  }
}

const BASE64_PREFIX = 'whsec_';

export function signatureHeaders(
  secret: string,
  id: string,
  atWallMs: number,
  body: string,
): Record<string, string> {
  const timestamp = Math.floor(atWallMs / 1000).toString();
  const signature = createHmac('sha256', keyOf(secret)).update(`${id}.${timestamp}.${body}`).digest('base64');
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${signature}` };
}

function keyOf(secret: string): Buffer {
  return secret.startsWith(BASE64_PREFIX)
    ? Buffer.from(secret.slice(BASE64_PREFIX.length), 'base64')
    : Buffer.from(secret, 'utf8');
}
