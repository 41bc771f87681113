import { z } from 'zod';

export interface Listen {
  host: string;
  port: number;
}

/** `127.0.0.1:8080`, `[::1]:8080` or `payouts.internal:8080`. */
export const listenAddress = z
  .string()
  .transform((text, context): Listen => {
    const [, bracketed, plain, port] =
      /^(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9.-]+)):(\d{1,5})$/.exec(text) ?? [];
    const host = bracketed ?? plain;
    if (host !== undefined && Number(port) <= 65_535) return { host, port: Number(port) };
    context.addIssue({ code: 'custom', message: 'must be host:port, such as 127.0.0.1:8080' });
    return z.NEVER;
  })
  .meta({ valueType: '`host:port`' });
