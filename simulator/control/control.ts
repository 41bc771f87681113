/** The control API for tests: the same verbs in process, and over HTTP through `simulatorControl`. */
import { z } from 'zod';
import type { FaultReport } from '../faults/fault-injector.ts';
import { type FaultRuleInput, faultRuleSchema } from '../faults/rules.ts';
import type { CallRecord } from '../ledger.ts';
import { parseMinor } from '../money.ts';
import type { Notification } from '../notifications/notifier.ts';
import { plantOrder, SCENARIO_PREFIX } from '../orders/create.ts';
import { parseScenario } from '../orders/scenario.ts';
import {
  type AppChange,
  appChangeSchema,
  type Settings,
  type SettingsChange,
  settingsSchema,
} from '../settings.ts';
import type { World } from '../world.ts';
import type { Counts, LedgerOf, LedgerRecord } from './answers.ts';
import { changeOrder } from './change-order.ts';
import { countsReport, ledgerOfReport, ledgerReport } from './reports.ts';
import * as requests from './requests.ts';

/** Thrown when a verb names something that does not exist. */
export class NotFoundError extends Error {
  override readonly name = 'NotFoundError';
}

export interface SimulatorControl {
  ledger(): LedgerRecord;
  ledgerOf(partnerOrderId: string): LedgerOf;
  calls(filter?: requests.CallFilter): CallRecord[];
  counts(): Counts;
  settings(): Settings;
  changeSettings(change: SettingsChange): Settings;
  changeApp(appId: string, change: AppChange): void;
  setScenario(partnerOrderId: string, scenario: string): void;
  setAccounts(clientId: string, accounts: requests.AccountsInput): void;
  addFault(rule: FaultRuleInput): { id: string };
  faults(): FaultReport[];
  releaseFault(id: string): { released: number };
  removeFault(id: string): void;
  removeFaults(): void;
  /** Resolves once the application's receiver accepts the notification or no retries are left. */
  notify(notification: requests.NotifyInput): Promise<void>;
  changeOrder(partnerOrderId: string, change: requests.OrderChange): void;
  /** Adds an order without a create: another party's order under our `partnerOrderId`. */
  plantOrder(order: requests.PlantedOrderInput): { orderId: string };
  /** Issues an authorization code without the page. */
  authorize(grant: requests.AuthorizeInput): { code: string };
  expireTokens(filter?: requests.ExpireInput): { expired: number };
  reset(): void;
}

const anyObject = z.record(z.string(), z.unknown());

/** Parses every argument by schema, because the same verbs are served over HTTP. */
export class Control implements SimulatorControl {
  readonly world: World;

  constructor(world: World) {
    this.world = world;
  }

  ledger(): LedgerRecord {
    return ledgerReport(this.world);
  }

  ledgerOf(partnerOrderId: string): LedgerOf {
    return ledgerOfReport(this.world, partnerOrderId);
  }

  calls(filter: unknown = {}): CallRecord[] {
    const { partnerOrderId, operation } = requests.callFilterSchema.parse(filter);
    return this.world.ledger.calls
      .list()
      .filter((call) => partnerOrderId === undefined || call.partnerOrderId === partnerOrderId)
      .filter((call) => operation === undefined || call.operation === operation);
  }

  counts(): Counts {
    return countsReport(this.world);
  }

  settings(): Settings {
    return this.world.settings;
  }

  changeSettings(change: unknown): Settings {
    this.world.settings = settingsSchema.parse({ ...this.world.settings, ...anyObject.parse(change) });
    return this.world.settings;
  }

  changeApp(appId: string, change: unknown): void {
    const app = this.world.apps.get(appId) ?? missing(`application ${appId}`);
    const { redirectUri, notifyUrl } = appChangeSchema.parse(change);
    if (redirectUri !== undefined) app.redirectUri = redirectUri ?? undefined;
    if (notifyUrl !== undefined) app.notifyUrl = notifyUrl ?? undefined;
  }

  setScenario(partnerOrderId: string, scenario: string): void {
    this.world.scenarios.set(partnerOrderId, parseScenario(scenario));
  }

  setAccounts(clientId: string, accounts: unknown): void {
    const parsed = requests.accountsSchema.parse(accounts);
    this.world.accounts.set(clientId, parsed?.map(accountOf) ?? null);
  }

  addFault(rule: unknown): { id: string } {
    return { id: this.world.faults.add(faultRuleSchema.parse(rule)) };
  }

  faults(): FaultReport[] {
    return this.world.faults.report();
  }

  releaseFault(id: string): { released: number } {
    return { released: this.world.faults.release(id) ?? missing(`fault ${id}`) };
  }

  removeFault(id: string): void {
    if (!this.world.faults.remove(id)) missing(`fault ${id}`);
  }

  removeFaults(): void {
    this.world.faults.clear();
  }

  async notify(input: unknown): Promise<void> {
    const parsed = requests.notifySchema.parse(input);
    const notification = this.#notificationFor(parsed);
    const sends = Array.from({ length: parsed.times }, () =>
      this.world.notifier.send(notification, 'asked-for'),
    );
    await Promise.all(sends);
  }

  changeOrder(partnerOrderId: string, change: unknown): void {
    const [order] = this.world.orders.byPartnerOrderId(partnerOrderId);
    changeOrder(
      this.world,
      order ?? missing(`order ${partnerOrderId}`),
      requests.orderChangeSchema.parse(change),
    );
  }

  plantOrder(input: unknown): { orderId: string } {
    const { scenario, instructedAmount, payerId, ...order } = requests.plantedOrderSchema.parse(input);
    const [firstApp = ''] = this.world.apps.keys();
    const { orderId } = plantOrder(this.world, payerId, {
      appId: order.appId ?? firstApp,
      outOrderId: order.partnerOrderId,
      lockRateId: undefined,
      request: {
        instructed: { currency: instructedAmount.currency, minor: parseMinor(instructedAmount.amount) ?? 0n },
        originCurrency: order.originCurrency,
        targetCurrency: order.targetCurrency,
      },
      platform: `${SCENARIO_PREFIX}${scenario}`,
      receiver: order.receiver,
    });
    return { orderId };
  }

  authorize(grant: unknown): { code: string } {
    const { appId, openId } = requests.authorizeSchema.parse(grant);
    if (!this.world.apps.has(appId)) missing(`application ${appId}`);
    return { code: this.world.codes.issue(appId, openId, this.world.settings) };
  }

  expireTokens(filter: unknown = {}): { expired: number } {
    return { expired: this.world.tokens.expire(requests.expireSchema.parse(filter)) };
  }

  reset(): void {
    this.world.reset();
  }

  #notificationFor(input: z.output<typeof requests.notifySchema>): Notification {
    const { partnerOrderId, overrides, signature } = input;
    const [order] = this.world.orders.byPartnerOrderId(partnerOrderId);
    const [firstApp = ''] = this.world.apps.keys();
    const truth = order && this.world.notifier.truth(order);
    const orderId = overrides.orderId === undefined ? truth?.orderId : overrides.orderId;
    const named = overrides.partnerOrderId === undefined ? partnerOrderId : overrides.partnerOrderId;
    return {
      appId: input.appId ?? truth?.appId ?? firstApp,
      orderId: orderId ?? undefined,
      partnerOrderId: named ?? undefined,
      status: overrides.status ?? truth?.status ?? 'SUCCESS',
      signature,
      rawBody: overrides.rawBody,
    };
  }
}

type ParsedAccount = NonNullable<z.output<typeof requests.accountsSchema>>[number];

function accountOf(account: ParsedAccount) {
  const { accountType, currency, status } = account;
  return {
    accountType,
    currency,
    status,
    availableMinor: parseMinor(account.available) ?? 0n,
    frozenMinor: parseMinor(account.frozen) ?? 0n,
  };
}

function missing(what: string): never {
  throw new NotFoundError(`there is no ${what}`);
}
