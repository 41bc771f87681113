/** The whole state of one simulated provider. */
import { z } from 'zod';
import { FaultInjector } from './faults/rules.ts';
import type { NotificationTransport } from './notifier.ts';
import { Notifier } from './notifier.ts';
import { OrderBook, OrderLife } from './orders/order.ts';
import type { Plan } from './orders/scenario.ts';
import { type Clock, type Randomness, type Runtime, Timers } from './runtime.ts';
import {
  type App,
  appSchema,
  DEFAULT_APPS,
  type Settings,
  type SettingsChange,
  settingsSchema,
} from './settings.ts';
import { Accounts, ReceivingAccounts } from './state/accounts.ts';
import { Ledger } from './state/ledger.ts';
import { Locks } from './state/quotes.ts';
import { RateLimit } from './state/rate-limit.ts';
import { AuthorizationCodes, Tokens } from './state/tokens.ts';

export interface WorldParts {
  runtime: Runtime;
  transport: NotificationTransport;
  settings?: SettingsChange | undefined;
  apps?: readonly App[] | undefined;
  /** Whether the client still has the answer to its create, which it received. Default: always. */
  remembers?: ((partnerOrderId: string, createdAtMs: number) => boolean) | undefined;
}

export class World {
  settings: Settings;
  readonly clock: Clock;
  readonly random: Randomness;
  readonly apps: Map<string, App>;
  readonly tokens: Tokens;
  readonly codes: AuthorizationCodes;
  readonly rateLimit = new RateLimit();
  readonly accounts = new Accounts();
  readonly receivingAccounts: ReceivingAccounts;
  readonly locks: Locks;
  readonly orders = new OrderBook();
  readonly scenarios = new Map<string, Plan>();
  readonly faults = new FaultInjector();
  readonly ledger: Ledger;
  readonly timers: Timers;
  readonly notifier: Notifier;
  readonly life: OrderLife;
  readonly remembers: (partnerOrderId: string, createdAtMs: number) => boolean;
  readonly #initialSettings: Settings;

  constructor({
    runtime,
    transport,
    settings = {},
    apps = DEFAULT_APPS,
    remembers = () => true,
  }: WorldParts) {
    this.#initialSettings = settingsSchema.parse(settings);
    this.settings = this.#initialSettings;
    this.remembers = remembers;
    this.clock = runtime.clock;
    this.random = runtime.random;
    const checked = z.array(appSchema).min(1).parse(apps);
    this.apps = new Map(checked.map((app) => [app.appId, app]));
    this.tokens = new Tokens(runtime);
    this.codes = new AuthorizationCodes(runtime);
    this.receivingAccounts = new ReceivingAccounts(runtime);
    this.locks = new Locks(runtime);
    this.ledger = new Ledger(this.clock);
    this.timers = new Timers(this.clock);
    this.notifier = new Notifier({
      runtime,
      transport,
      settings: () => this.settings,
      notifyUrlOf: (appId) => this.apps.get(appId)?.notifyUrl,
    });
    this.life = new OrderLife({
      runtime,
      timers: this.timers,
      accounts: this.accounts,
      notifier: this.notifier,
      settings: () => this.settings,
    });
  }

  /** Resets everything except applications and tokens, so that clients can keep their tokens. */
  reset(): void {
    this.timers.clear();
    this.faults.clear();
    this.settings = this.#initialSettings;
    this.rateLimit.reset();
    this.accounts.reset();
    this.receivingAccounts.reset();
    this.locks.reset();
    this.orders.reset();
    this.scenarios.clear();
    this.ledger.reset();
    this.notifier.log.clear();
  }

  async close(): Promise<void> {
    this.timers.clear();
    this.faults.clear();
    await this.notifier.close();
  }
}
