/** Sends notifications to their receivers. */
import { Agent, request } from 'undici';

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
