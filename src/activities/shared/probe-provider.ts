/** Checks the open points of the specification with harmless reads. No response of the provider makes it throw. */
import { formatMoney } from '../../contract/money.ts';
import { OPEN_POINTS, type ProbeFinding } from '../../contract/open-points.ts';
import type { PayoutOrder, Quote, TradeResult } from '../../contract/provider-records.ts';
import type { ClockOffset, ProbeResult, ProbeTarget } from '../../contract/workflows.ts';
import { isMasked } from '../../domain/provider-text.ts';
import { clockOffset } from '../../domain/time.ts';
import { type PaymentsClient, PaymentsError } from '../../payments/index.ts';
import type { Clock, Runtime } from '../../runtime/runtime.ts';

/** The calls that a probe may use. They change nothing, except that a quote creates a lock, which expires. */
type Probed = Pick<PaymentsClient, 'ping' | 'quote' | 'tradeResult' | 'payoutOrder'>;

type Attempt<T = unknown> = { value: T } | { error: PaymentsError };
type Finding = Omit<ProbeFinding, 'id'> & { isLimited?: true };

const KNOWN_AUDITS = ['PROCESSING', 'APPROVED', 'REJECTED', 'RETURNED', 'DECLINED'];
const EARLIEST_PLAUSIBLE = '2020-01-01T00:00:00.000Z';
/** Errors that prove that the provider accepted and processed a query. */
const PROCESSED = ['ORDER_NOT_EXIST', 'ILLEGAL_PARAMETER'];
const NOT_PROCESSED = ['UNAUTHORIZED', 'REFUSED', 'MALFORMED_ANSWER'];

export async function probeProvider(
  client: Probed,
  target: ProbeTarget,
  { clock, random }: Runtime,
): Promise<ProbeResult> {
  let read: ClockOffset | undefined;
  let sentMs = 0;
  // The `Date` header has whole seconds. The measurement starts with the send, after the call's turn.
  const ping = {
    beforeSend: () => {
      sentMs = clock.wallMs();
    },
    onDate: (date: string) => {
      const providerMs = Date.parse(date);
      if (!Number.isNaN(providerMs)) read = clockOffset(providerMs, sentMs, clock.wallMs(), 1_000);
    },
  };
  const noSuchId = () => `doctor-${random.uuid()}`;
  const { clientId = 'doctor' } = target;
  const [gateway, unknown, existing, quoted] = await Promise.all([
    attempt(client.ping(ping)),
    attempt(client.tradeResult({ clientId, partnerOrderId: noSuchId() })),
    existingOrder(client, target, noSuchId(), clock),
    probeQuote(client, target.payerId),
  ]);
  const findings: Record<string, Finding> = {
    'gateway-token': accepted(gateway, 'the example call was accepted'),
    'trade-token': processed(unknown, 'the token of a trade query was accepted'),
    signature: processed(unknown, 'the provider processed the query', NOT_PROCESSED),
    'unknown-order': unknownOrder(unknown),
    ...existing,
    ...quoted,
  };
  const limited = OPEN_POINTS.map(({ id }) => id).filter((id) => findings[id]?.isLimited);
  return {
    findings: OPEN_POINTS.map(({ id, needs }) => {
      const { verdict, detail } =
        findings[id] ?? notProbed(needs === undefined ? 'no harmless read can check this' : `needs ${needs}`);
      return { id, verdict, detail };
    }),
    ...(limited.length > 0 && { limited }),
    reached: reachedBy([unknown, gateway]),
    ...(read !== undefined && { clock: read }),
  };
}

/** Any response except 429 and 5xx proves that the provider was reached. The findings report refusals. */
function reachedBy(attempts: readonly Attempt[]): ProbeResult['reached'] {
  const failures = attempts.flatMap((tried) => ('error' in tried ? [tried.error] : []));
  const away = failures.filter(({ httpStatus = 599 }) => httpStatus === 429 || httpStatus >= 500);
  if (away.length < attempts.length)
    return { ok: true, detail: 'a worker called the provider, and it responded' };
  return { ok: false, detail: away[0]?.message ?? 'no response' };
}

async function attempt<T>(call: Promise<T>): Promise<Attempt<T>> {
  try {
    return { value: await call };
  } catch (error) {
    if (error instanceof PaymentsError) return { error };
    throw error;
  }
}

const holds = (detail: string): Finding => ({ verdict: 'holds', detail });
const refuted = (detail: string): Finding => ({ verdict: 'does not hold', detail });
const notProbed = (detail: string): Finding => ({ verdict: 'not probed', detail });
const holdsIf = (holding: boolean, detail: string) => (holding ? holds : refuted)(detail);

/** Only the errors in `against` refute the point. An unavailable or busy provider decides nothing. */
function judged(error: PaymentsError, against: readonly string[]): Finding {
  const code = error.serviceCode === undefined ? '' : `, code ${error.serviceCode}`;
  const detail = `${error.message}${code}`;
  if (error.code === 'RATE_LIMITED') return { ...notProbed(detail), isLimited: true };
  return against.includes(error.code) ? refuted(detail) : notProbed(detail);
}

function accepted(tried: Attempt, detail: string, against = ['UNAUTHORIZED']): Finding {
  return 'value' in tried ? holds(detail) : judged(tried.error, against);
}

function processed(tried: Attempt, detail: string, against = ['UNAUTHORIZED']): Finding {
  const isProcessed = 'error' in tried && PROCESSED.includes(tried.error.code);
  return isProcessed ? holds(detail) : accepted(tried, detail, against);
}

function unknownOrder(tried: Attempt): Finding {
  if ('value' in tried) return refuted('an unused number returned an order');
  if (tried.error.code === 'ORDER_NOT_EXIST') return holds('returned 900004, order not exist');
  return judged(tried.error, ['ILLEGAL_PARAMETER', 'MALFORMED_ANSWER', 'REFUSED']);
}

async function existingOrder(
  client: Probed,
  { clientId, partnerOrderId }: ProbeTarget,
  otherClient: string,
  clock: Clock,
): Promise<Record<string, Finding>> {
  if (clientId === undefined || partnerOrderId === undefined) return {};
  const tried = await attempt(client.tradeResult({ clientId, partnerOrderId }));
  if (!('value' in tried)) return notFound(tried.error);
  const trade = tried.value;
  const [order, ofOther] = await Promise.all([
    attempt(client.payoutOrder(trade.orderId)),
    attempt(client.tradeResult({ clientId: otherClient, partnerOrderId })),
  ]);
  return {
    'partner-number': holds('the trade query found the order by its partnerOrderId'),
    'trade-order-id': accepted(order, 'the order query knows the id of the trade query', ['ORDER_NOT_EXIST']),
    'client-of-payer': filtersByClient(ofOther),
    echo: echoed(order),
    timestamps: plausibleTimes(trade, clock),
    'audit-status': knownAudit(trade),
    'target-currency': holdsIf(trade.targetCurrency === 'CNY', `it is ${trade.targetCurrency}`),
    'lock-field': namesLock(order),
  };
}

/** The client rejects the response of a provider that writes ids in its own way. */
function notFound(error: PaymentsError): Record<string, Finding> {
  const isOtherId = error.code === 'MALFORMED_ANSWER' && error.field?.endsWith('_id') === true;
  return {
    'partner-number': judged(error, ['ORDER_NOT_EXIST']),
    ...(isOtherId && { echo: refuted(`the trade query repeats another ${error.field}`) }),
  };
}

function filtersByClient(tried: Attempt): Finding {
  if ('value' in tried)
    return refuted('the trade query shows the order under a client_id that does not exist');
  return PROCESSED.includes(tried.error.code)
    ? holds('the trade query does not show the order under another client_id')
    : judged(tried.error, []);
}

function echoed(tried: Attempt<PayoutOrder>): Finding {
  if (!('value' in tried)) return judged(tried.error, []);
  const { bankAccountNumber = '', bankAccountName = '', bankName = '' } = tried.value;
  const hidden = Object.entries({ bankAccountNumber, bankAccountName, bankName })
    .filter(([, text]) => isMasked(text))
    .map(([field]) => field);
  const what = hidden.length === 0 ? 'nothing is masked' : `masked: ${hidden.join(', ')}`;
  return holds(`the ids agree; ${what}`);
}

function plausibleTimes({ createdAt, finishedAt }: TradeResult, clock: Clock): Finding {
  const times = [createdAt, finishedAt].filter((time) => time !== undefined);
  if (times.length === 0) return notProbed('the order has no times');
  const tomorrow = new Date(clock.wallMs() + 86_400_000).toISOString();
  const plausible = times.every((time) => time > EARLIEST_PLAUSIBLE && time < tomorrow);
  return holdsIf(plausible, `read as ${times.join(' and ')}`);
}

function knownAudit({ auditStatus }: TradeResult): Finding {
  if (auditStatus === undefined) return notProbed('the order has no audit status');
  return holdsIf(KNOWN_AUDITS.includes(auditStatus), `it is ${auditStatus}`);
}

function namesLock(tried: Attempt<PayoutOrder>): Finding {
  if (!('value' in tried)) return judged(tried.error, []);
  return tried.value.lockRateId === undefined
    ? refuted('the order has no lock id: compare rate and amounts by hand')
    : holds('the order has its lock id');
}

async function probeQuote(client: Probed, payerId: string | undefined): Promise<Record<string, Finding>> {
  if (payerId === undefined) return {};
  const [originCurrency, targetCurrency] = ['USD', 'CNY'];
  const instructedAmount = { currency: targetCurrency, amount: '100.00' };
  const tried = await attempt(
    client.quote({ payerId, type: 'WITHDRAW', instructedAmount, originCurrency, targetCurrency }),
  );
  return {
    'quote-lock': accepted(tried, 'the quote has a lock', ['MALFORMED_ANSWER']),
    ...('value' in tried && { 'rate-direction': rateDirection(tried.value) }),
  };
}

/** A fee makes the amounts differ from the rate, but by far less than the other direction does. */
const LARGEST_SHARE_OF_FEE = 0.5;

function rateDirection({ exchangeRate, pay, target }: Quote): Finding {
  const byAmounts = Number(target.amount) / Number(pay.amount);
  const fits = (rate: number) => Math.abs(byAmounts / rate - 1) < LARGEST_SHARE_OF_FEE;
  const detail = `the rate is ${exchangeRate}; the quote pays ${formatMoney(pay)} for ${formatMoney(target)}`;
  return holdsIf(fits(Number(exchangeRate)), detail);
}
