/** The control API for tests: the same verbs in process, and over HTTP through `simulatorControl`. */
import { z } from 'zod';
import { type FaultReport, type FaultRuleInput, faultRuleSchema } from '../faults/rules.ts';
import { isJsonObject } from '../json.ts';
import { parseMinor } from '../money.ts';
import type { Notification } from '../notifier.ts';
import { plantOrder, SCENARIO_PREFIX } from '../orders/create.ts';
import { FINAL_STATUSES, type Order, type Receiver, truthOf } from '../orders/order.ts';
import { parseScenario } from '../orders/scenario.ts';
import {
  type AppChange,
  appChangeSchema,
  type Settings,
  type SettingsChange,
  settingsSchema,
} from '../settings.ts';
import type { CallRecord } from '../state/ledger.ts';
import type { World } from '../world.ts';
import { countsReport, ledgerOfReport, ledgerReport } from './reports.ts';
import type { Counts, LedgerOf, LedgerRecord, ParsedOrderChange } from './schemas.ts';
import * as requests from './schemas.ts';

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
    const truth = order && truthOf(order);
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

export function changeOrder(world: World, order: Order, change: ParsedOrderChange): void {
  if (change.status !== undefined) changeStatus(world, order, change.status);
  changeFields(order, change);
  if (change.echoClientId !== undefined) echoClientId(order, change.echoClientId);
  for (const split of change.splits ?? []) changeSplit(order, split);
  for (const [operation, patch] of Object.entries(change.answers ?? {}))
    changeAnswer(order, operation, patch);
}

function changeFields(order: Order, change: ParsedOrderChange): void {
  if (change.auditStatus !== undefined) order.auditStatus = change.auditStatus;
  if (change.complete !== undefined) order.complete = change.complete;
  if (change.v2Status !== undefined) order.v2Status = change.v2Status ?? undefined;
  if (change.errorMsg !== undefined) order.errorMsg = change.errorMsg ?? undefined;
  if (change.receiver !== undefined) order.receiver = changedReceiver(order.receiver, change.receiver);
  if (change.lockRateId !== undefined) order.lockRateId = change.lockRateId;
  if (change.visible !== undefined) order.visibleAtMs = change.visible ? 0 : Number.POSITIVE_INFINITY;
}

function changedReceiver(
  receiver: Receiver,
  { bankAccountNumber, bankAccountName, bankName }: NonNullable<ParsedOrderChange['receiver']>,
): Receiver {
  return {
    bankAccountNumber: bankAccountNumber ?? receiver.bankAccountNumber,
    bankAccountName: bankAccountName ?? receiver.bankAccountName,
    bankName: bankName ?? receiver.bankName,
  };
}

function changeStatus(world: World, order: Order, status: string): void {
  if (FINAL_STATUSES.includes(status)) world.life.end(order, status);
  else {
    order.status = status;
    order.complete = false;
  }
}

function changeSplit(order: Order, change: NonNullable<ParsedOrderChange['splits']>[number]): void {
  const split = order.splits[change.index];
  if (!split) throw new RangeError(`the order has no split ${change.index}`);
  if (change.status !== undefined) split.status = change.status;
  const minor = change.amount === undefined ? undefined : parseMinor(change.amount);
  if (minor !== undefined) split.target = { currency: split.target.currency, minor };
  if (change.refund !== undefined) split.refundFlag = change.refund;
  if (change.refundReason !== undefined) split.refundReason = change.refundReason;
}

/** Stored as an answer patch, so that it combines with other changes to the same answers. */
function echoClientId(order: Order, clientId: string | null): void {
  for (const operation of ['queryResult', 'queryPayDetail']) {
    const current = order.answerPatches.get(operation);
    const { client_id: _replaced, ...others } = isJsonObject(current) ? current : {};
    order.answerPatches.set(operation, clientId === null ? others : { ...others, client_id: clientId });
  }
}

function changeAnswer(order: Order, operation: string, patch: unknown): void {
  if (patch === null) order.answerPatches.delete(operation);
  else if (isJsonObject(patch)) {
    // Shallow merge on purpose: null in a patch means "remove this field", and a deep merge would lose it.
    const earlier = order.answerPatches.get(operation);
    order.answerPatches.set(operation, { ...(isJsonObject(earlier) ? earlier : {}), ...patch });
  }
}
