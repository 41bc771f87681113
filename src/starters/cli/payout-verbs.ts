/** The verbs that start, steer and read payouts. */
import { endedPayout, notifyFollowUp } from '../../client/follow-ups.ts';
import type { PayoutRef, Payouts, StartedPayout } from '../../client/payouts.ts';
import { payoutWorkflowId } from '../../contract/ids.ts';
import type { CheckedPayoutRequest, PayoutResult, PayoutState } from '../../domain/payout.ts';
import { isGone } from '../../temporal/client-errors.ts';
import { type Answer, EXIT } from './answer.ts';
import { followUpOf, followUpReasons } from './follow-up.ts';
import type { Session } from './session.ts';
import { attentionText, facts, grid, money, quoteText, resultText, stateText } from './text.ts';

export async function start(
  session: Session,
  requests: readonly CheckedPayoutRequest[],
  wait: boolean,
  startedBy: string | undefined,
): Promise<Answer> {
  const started: StartedPayout[] = [];
  for (const request of requests)
    started.push(await session.withDeadline(() => session.payouts.start(request, { startedBy })));
  if (!wait)
    return {
      json: started,
      text: grid(
        ['payout', 'app', 'workflow', 'run'],
        started.map((one) => [one.partnerOrderId, one.app, one.workflowId, one.runId]),
      ),
    };
  const results = await Promise.all(started.map((ref) => session.payouts.result(ref)));
  return { json: results, text: results.map(resultText).join('\n\n'), exitCode: exitOf(results) };
}

/** Gets quotes, and checks whether the payouts would accept them. Creates nothing. */
export async function quote(session: Session, requests: readonly CheckedPayoutRequest[]): Promise<Answer> {
  const rows = await Promise.all(
    requests.map(async (request) => {
      const { quote: quoted, problem } = await session.reads.quote(request);
      const { partnerOrderId } = request;
      return { partnerOrderId, quote: quoted, accepted: problem === undefined, ...(problem && { problem }) };
    }),
  );
  const texts = rows.map(({ partnerOrderId, quote: quoted, problem }) =>
    facts([
      ['payout', partnerOrderId],
      ['quote', quoteText(quoted)],
      ['available', money(quoted.available)],
      ['accepted', problem ? `no: ${problem.code}: ${problem.message}` : 'yes'],
    ]),
  );
  return { json: rows, text: texts.join('\n\n') };
}

export async function status(session: Session, ref: PayoutRef): Promise<Answer> {
  const state = await session.withDeadline(() => session.payouts.state(ref));
  const followUp = state.phase === 'DONE' ? await followUpOf(session, ref) : undefined;
  if (!followUp) return stateAnswer(state);
  const lines = [stateText(state), ...followUpReasons(followUp).map(attentionText)];
  if (followUp.lastLookedAt) lines.push(facts([['last follow-up', followUp.lastLookedAt]]));
  return { json: { ...state, followUp }, text: lines.join('\n') };
}

export async function result(session: Session, ref: PayoutRef): Promise<Answer> {
  const ended = await session.payouts.result(ref);
  return { json: ended, text: resultText(ended), exitCode: exitOf([ended]) };
}

/** Sends an update. */
export async function steer(
  { payouts, withDeadline }: Session,
  send: (payouts: Payouts) => Promise<PayoutState>,
): Promise<Answer> {
  return stateAnswer(await withDeadline(() => send(payouts)));
}

export async function notify(
  session: Session,
  ref: PayoutRef,
  content: { orderId?: string | undefined; status?: string | undefined },
): Promise<Answer> {
  const { partnerOrderId } = ref;
  const notification = { receivedAt: new Date().toISOString(), partnerOrderId, ...content };
  const json = { notified: true };
  try {
    await session.withDeadline(() => session.payouts.notify(ref, notification));
  } catch (error) {
    if (!isGone(error)) throw error;
    const workflowId = payoutWorkflowId(ref.app ?? 'default', partnerOrderId);
    const ended = await session.withDeadline(() => endedPayout(session.client, workflowId));
    if (!ended) throw error;
    await session.withDeadline(() => notifyFollowUp(session.client, ended, notification));
    return { json, text: 'notified: the payout has ended; its follow-up checks again' };
  }
  return { json, text: 'notified: the payout queries the provider' };
}

function stateAnswer(state: PayoutState): Answer {
  return { json: state, text: stateText(state) };
}

function exitOf(results: readonly PayoutResult[]): number {
  return results.every(({ outcome }) => outcome === 'SUCCESS') ? EXIT.ok : EXIT.notPaid;
}
