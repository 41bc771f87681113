/** How a notification gets to its receiver. */
import { Agent, request } from 'undici';

export interface Letter {
  url: string;
  headers: Record<string, string>;
  body: string;
}

export interface Courier {
  /** The receiver's HTTP status; rejects where there is none in time. */
  deliver(letter: Letter, timeoutMs: number): Promise<number>;
  /** Gives up what is under way. */
  close(): Promise<void>;
}

export class HttpCourier implements Courier {
  readonly #agent = new Agent({ keepAliveTimeout: 1000 });

  async deliver({ url, headers, body }: Letter, timeoutMs: number): Promise<number> {
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
