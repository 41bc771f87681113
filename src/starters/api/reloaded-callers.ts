/** Reads the callers again when `PAYOUTS_API_KEYS_FILE` changes, so that a removed key stops working without a restart. */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { FastifyBaseLogger } from 'fastify';
import type { Callers } from '../../config/callers.ts';
import { ConfigError } from '../../config/environment.ts';
import type { RequestLimits } from './request-limits.ts';

const INTERVAL_MS = 1_000;

/** Compares contents, not times: a file system may give two versions the same time, and a mounted secret is a link. */
export class ReloadedCallers implements Callers {
  readonly limits: RequestLimits;
  private callers: Callers;
  private readonly log: FastifyBaseLogger;
  private digest: string | undefined;
  private timer: NodeJS.Timeout | undefined;
  private isClosed = false;

  constructor(callers: Callers, log: FastifyBaseLogger, limits: RequestLimits) {
    this.callers = callers;
    this.log = log;
    this.limits = limits;
    this.schedule();
  }

  get keys(): Callers['keys'] {
    return this.callers.keys;
  }

  close(): void {
    this.isClosed = true;
    clearTimeout(this.timer);
  }

  private schedule(): void {
    const { file } = this.callers;
    if (file === undefined || this.isClosed) return;
    this.timer = setTimeout(() => void this.check(file).finally(() => this.schedule()), INTERVAL_MS).unref();
  }

  private async check({ path, read }: NonNullable<Callers['file']>): Promise<void> {
    const digest = await digestOf(path);
    if (digest === this.digest) return;
    this.digest = digest;
    try {
      this.callers = read();
      const names = this.callers.keys.map(({ caller }) => caller.name);
      this.limits.keepOnly(names);
      this.log.info({ callers: names }, 'callers are loaded');
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      const { problems } = error;
      this.log.error({ problems }, 'the keys file is not usable: the earlier keys stay valid');
    }
  }
}

/** Undefined is never a digest: a file that cannot be read is reported once. */
async function digestOf(path: string): Promise<string> {
  const content = await readFile(path).catch(() => undefined);
  return content ? createHash('sha256').update(content).digest('hex') : 'unreadable';
}
