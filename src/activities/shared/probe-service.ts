/**
 * Which of the specification's open points hold on this service, told by harmless reads alone. An answer that
 * cannot be read is a finding like any other: this never throws for what the service does.
 */
import type { ProbeResult, ProbeTarget } from '../../contract/workflows.ts';
import { OPEN_POINTS, type ProbeFinding } from '../../domain/open-points.ts';
import type { TradeKey, TradeResult } from '../../domain/provider-records.ts';
import { type ClockOffset, clockOffset } from '../../domain/time.ts';
import { type PaymentsClient, PaymentsError } from '../../payments/index.ts';
import type { Clock, Random, Surroundings } from '../../surroundings/surroundings.ts';

/** The part of the client that a probe may use: nothing in it changes anything but a lock that runs out. */
export type Probed = Pick<PaymentsClient, 'ping' | 'quote' | 'tradeResult' | 'payoutOrder'>;

type Told<T = unknown> = { value: T } | { error: PaymentsError };
type Finding = Omit<ProbeFinding, 'id'>;

const KNOWN_AUDITS = ['PROCESSING', 'APPROVED', 'REJECTED', 'RETURNED', 'DECLINED'];
const EARLIEST_SENSIBLE = '2020-01-01T00:00:00.000Z';
/** What only a service that has read and accepted a query says. */
const BY_ITS_OWN_RULES = ['ORDER_NOT_EXIST', 'ILLEGAL_PARAMETER'];

export async function probeService(
  client: Probed,
  question: ProbeTarget,
  { clock, random }: Surroundings,
): Promise<ProbeResult> {
  let read: ClockOffset | undefined;
  const [gateway, unknown, existing, quoted] = await Promise.all([
    told(() => pingWithClock(client, clock, (seen) => (read = seen))),
    told(() => client.tradeResult(neverUsed(question, random))),
    existingOrder(client, question, clock),
    quotedFor(client, question.payerId),
  ]);
  const findings: Record<string, Finding> = {
    'gateway-token': accepted(gateway, 'the example call was accepted'),
    'trade-token': accepted(unknown, 'a trade query was not refused for its token', BY_ITS_OWN_RULES),
    signature: signatureAccepted(unknown),
    'unknown-order': unknownOrder(unknown),
    ...(existing ?? {}),
    ...(quoted && { 'quote-lock': quoted }),
  };
  return {
    findings: OPEN_POINTS.map(({ id, probe }) => ({
      id,
      ...(findings[id] ?? {
        verdict: 'not probed',
        detail: probe === '' ? 'no harmless read can tell' : `needs more: ${probe}`,
      }),
    })),
    reached: whetherReached([unknown, gateway]),
    ...(read !== undefined && { clock: read }),
  };
}

/** Headers give whole seconds. The reading begins when the call leaves, for it may have waited for its turn. */
async function pingWithClock(client: Probed, clock: Clock, saw: (read: ClockOffset) => void): Promise<void> {
  let leftMs = 0;
  await client.ping({
    beforeSend: () => {
      leftMs = clock.wallMs();
    },
    onDate: (date) => {
      const thereMs = Date.parse(date);
      if (!Number.isNaN(thereMs)) saw(clockOffset(thereMs, leftMs, clock.wallMs(), 1_000));
    },
  });
}

/** Any answer by the service's own rules will do; that it is refused is told by the findings. */
function whetherReached(answers: readonly Told[]): ProbeResult['reached'] {
  const failures = answers.flatMap((answer) => ('error' in answer ? [answer.error] : []));
  const away = failures.filter(({ httpStatus = 599 }) => httpStatus === 429 || httpStatus >= 500);
  if (away.length < answers.length) return { ok: true, detail: 'asked through a worker, and it answered' };
  return { ok: false, detail: away[0]?.message ?? 'no answer' };
}

/** A number that no payout can have. */
function neverUsed({ clientId = 'doctor' }: ProbeTarget, random: Random): TradeKey {
  return { clientId, partnerOrderId: `doctor-${random.uuid()}` };
}

async function told<T>(work: () => Promise<T>): Promise<Told<T>> {
  try {
    return { value: await work() };
  } catch (error) {
    if (error instanceof PaymentsError) return { error };
    throw error;
  }
}

function accepted(answer: Told, seen: string, alsoFine: readonly string[] = []): Finding {
  if ('value' in answer || alsoFine.includes(answer.error.code)) return { verdict: 'holds', detail: seen };
  return unlessAway(answer.error, ['UNAUTHORISED']);
}

function signatureAccepted(answer: Told): Finding {
  const detail = 'the query was read and answered by the rules of the service';
  if ('value' in answer || BY_ITS_OWN_RULES.includes(answer.error.code)) return { verdict: 'holds', detail };
  return unlessAway(answer.error, ['UNAUTHORISED', 'REFUSED', 'MALFORMED_ANSWER']);
}

function unknownOrder(answer: Told): Finding {
  if ('value' in answer)
    return { verdict: 'does not hold', detail: 'a number that was never used was answered with an order' };
  if (answer.error.code === 'ORDER_NOT_EXIST')
    return { verdict: 'holds', detail: 'answered 900004, order not exist' };
  return unlessAway(answer.error, ['ILLEGAL_PARAMETER', 'MALFORMED_ANSWER', 'REFUSED']);
}

/** Only an answer that speaks of the point decides it; a service that is away or busy decides nothing. */
function unlessAway(error: PaymentsError, against: readonly string[]): Finding {
  const code = error.serviceCode === undefined ? '' : `, code ${error.serviceCode}`;
  const detail = `${error.message}${code}`;
  return { verdict: against.includes(error.code) ? 'does not hold' : 'not probed', detail };
}

async function existingOrder(
  client: Probed,
  { clientId, partnerOrderId }: ProbeTarget,
  clock: Clock,
): Promise<Record<string, Finding> | undefined> {
  if (clientId === undefined || partnerOrderId === undefined) return undefined;
  const answer = await told(() => client.tradeResult({ clientId, partnerOrderId }));
  if (!('value' in answer)) return { 'partner-number': unlessAway(answer.error, ['ORDER_NOT_EXIST']) };
  const trade = answer.value;
  return {
    'partner-number': { verdict: 'holds', detail: 'the trade query found the order by our number' },
    timestamps: sensibleTimes(trade, clock),
    'audit-status': knownAudit(trade),
    'lock-field': await carriesLock(client, trade.orderId),
  };
}

function sensibleTimes({ createdAt, finishedAt }: TradeResult, clock: Clock): Finding {
  const times = [createdAt, finishedAt].filter((time) => time !== undefined);
  if (times.length === 0) return { verdict: 'not probed', detail: 'the order carries no times' };
  const tomorrow = new Date(clock.wallMs() + 86_400_000).toISOString();
  const sensible = times.every((time) => time > EARLIEST_SENSIBLE && time < tomorrow);
  return { verdict: sensible ? 'holds' : 'does not hold', detail: `read as ${times.join(' and ')}` };
}

function knownAudit({ auditStatus }: TradeResult): Finding {
  if (auditStatus === undefined)
    return { verdict: 'not probed', detail: 'the order carries no audit status' };
  return {
    verdict: KNOWN_AUDITS.includes(auditStatus) ? 'holds' : 'does not hold',
    detail: `it is ${auditStatus}`,
  };
}

async function carriesLock(client: Probed, orderId: string): Promise<Finding> {
  const answer = await told(() => client.payoutOrder(orderId));
  if (!('value' in answer)) return unlessAway(answer.error, []);
  return answer.value.lockRateId === undefined
    ? { verdict: 'does not hold', detail: 'the order names no lock: compare rate and amounts by hand' }
    : { verdict: 'holds', detail: 'the order names its lock' };
}

async function quotedFor(client: Probed, payerId: string | undefined): Promise<Finding | undefined> {
  if (payerId === undefined) return undefined;
  const answer = await told(() =>
    client.quote({
      payerId,
      type: 'WITHDRAW',
      instructedAmount: { currency: 'CNY', amount: '100.00' },
      originCurrency: 'USD',
      targetCurrency: 'CNY',
    }),
  );
  if ('value' in answer) return { verdict: 'holds', detail: 'the quote carries a lock' };
  return unlessAway(answer.error, ['MALFORMED_ANSWER']);
}
