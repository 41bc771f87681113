/** Everything one simulated service knows, put together once and handed to whoever needs a part of it. */
import { Timers } from './clock.ts';
import { FaultBox } from './faults/fault-box.ts';
import { Ledger } from './ledger.ts';
import { Notifier } from './notifications/notifier.ts';
import { OrderLife } from './orders/life.ts';
import { OrderBook } from './orders/order.ts';
import type { Plan } from './orders/scenario.ts';
import { type App, DEFAULT_APPS, type Settings, settingsSchema } from './settings.ts';
import { Accounts } from './state/accounts.ts';
import { CallBudget } from './state/call-budget.ts';
import { AuthorizationCodes } from './state/codes.ts';
import { Locks } from './state/quotes.ts';
import { ReceivingAccounts } from './state/receiving-accounts.ts';
import { Tokens } from './state/tokens.ts';

export class World {
  settings: Settings;
  readonly apps: Map<string, App>;
  readonly tokens = new Tokens();
  readonly codes = new AuthorizationCodes();
  readonly budget = new CallBudget();
  readonly accounts = new Accounts();
  readonly receivingAccounts = new ReceivingAccounts();
  readonly locks = new Locks();
  readonly orders = new OrderBook();
  readonly scenarios = new Map<string, Plan>();
  readonly faults = new FaultBox();
  readonly ledger = new Ledger();
  readonly timers = new Timers();
  readonly notifier: Notifier;
  readonly life: OrderLife;
  readonly #initialSettings: Settings;

  constructor(settings: unknown, apps: readonly App[] = DEFAULT_APPS) {
    this.#initialSettings = settingsSchema.parse(settings ?? {});
    this.settings = this.#initialSettings;
    this.apps = new Map(apps.map((app) => [app.appId, { ...app }]));
    this.notifier = new Notifier({
      settings: () => this.settings,
      notifyUrlOf: (appId) => this.apps.get(appId)?.notifyUrl,
    });
    this.life = new OrderLife({
      timers: this.timers,
      accounts: this.accounts,
      notifier: this.notifier,
      settings: () => this.settings,
    });
  }

  /** Back to the start, except for applications and tokens: whoever holds a token goes on working. */
  reset(): void {
    this.timers.clear();
    this.faults.clear();
    this.settings = this.#initialSettings;
    this.budget.reset();
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
