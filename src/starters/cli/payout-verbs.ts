/** The verbs that start, steer and read payouts. */

import { endedPayout } from '../../client/ended-payout.ts';
import { notifyFollowUp } from '../../client/follow-ups.ts';
import type { PayoutRef, StartedPayout } from '../../client/payouts.ts';
import { payoutWorkflowId } from '../../contract/ids.ts';
import type { Notification, Resolution } from '../../contract/payout-messages.ts';
import type { CheckedPayoutRequest, PayoutResult, PayoutState } from '../../domain/payout.ts';
import { PROCESS_SURROUNDINGS } from '../../surroundings/process.ts';
import { isGone } from '../../temporal/client-errors.ts';
import { type Answer, EXIT } from './answer.ts';
import type { Session } from './session.ts';
import { changesOf, sinceItsEndIfFollowed } from './since-its-end.ts';
import { attentionText, facts, grid, money, quoteText, resultText, stateText } from './text.ts';

export async function start(
  session: Session,
  requests: readonly CheckedPayoutRequest[],
  wait: boolean,
  startedBy: string | undefined,
): Promise<Answer> {
  const started: StartedPayout[] = [];
  for (const request of requests)
    started.push(await session.soon(() => session.payouts.start(request, { startedBy })));
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

/** Quotes each and says whether a payout would accept it. Creates nothing. */
export async function quote(session: Session, requests: readonly CheckedPayoutRequest[]): Promise<Answer> {
  const rows = await Promise.all(
    requests.map(async (request) => ({ request, ...(await session.reads.quote(request)) })),
  );
  return {
    json: rows.map(({ request, quote: quoted, problem }) => ({
      partnerOrderId: request.partnerOrderId,
      quote: quoted,
      accepted: problem === undefined,
      ...(problem && { problem }),
    })),
    text: rows
      .map(({ request, quote: quoted, problem }) =>
        facts([
          ['payout', request.partnerOrderId],
          ['quote', quoteText(quoted)],
          ['available', money(quoted.available)],
          ['would be', problem ? `refused: ${problem.code}: ${problem.message}` : 'accepted'],
        ]),
      )
      .join('\n\n'),
  };
}

export async function status(session: Session, ref: PayoutRef): Promise<Answer> {
  const state = await session.soon(() => session.payouts.state(ref));
  const since = state.phase === 'DONE' ? await sinceItsEndIfFollowed(session, ref) : undefined;
  if (!since) return stateAnswer(state);
  const lines = [stateText(state), ...changesOf(since).map(attentionText)];
  if (since.lastLookedAt) lines.push(facts([['looked at again', since.lastLookedAt]]));
  return { json: { ...state, sinceItsEnd: since }, text: lines.join('\n') };
}

export async function result(session: Session, ref: PayoutRef): Promise<Answer> {
  const ended = await session.payouts.result(ref);
  return { json: ended, text: resultText(ended), exitCode: exitOf([ended]) };
}

export async function approve(session: Session, ref: PayoutRef, by: string, note?: string): Promise<Answer> {
  return stateAnswer(await session.soon(() => session.payouts.approve(ref, { by, note })));
}

export async function refuse(session: Session, ref: PayoutRef, by: string, note?: string): Promise<Answer> {
  return stateAnswer(await session.soon(() => session.payouts.refuse(ref, { by, note })));
}

export async function cancel(session: Session, ref: PayoutRef, by: string, reason?: string): Promise<Answer> {
  return stateAnswer(await session.soon(() => session.payouts.cancel(ref, { by, reason })));
}

export async function resolve(session: Session, ref: PayoutRef, resolution: Resolution): Promise<Answer> {
  return stateAnswer(await session.soon(() => session.payouts.resolve(ref, resolution)));
}

export async function poll(session: Session, ref: PayoutRef): Promise<Answer> {
  return stateAnswer(await session.soon(() => session.payouts.poll(ref)));
}

export async function notify(
  session: Session,
  ref: PayoutRef,
  heard: { orderId?: string | undefined; status?: string | undefined },
): Promise<Answer> {
  const notification = { receivedAt: new Date().toISOString(), partnerOrderId: ref.partnerOrderId, ...heard };
  try {
    await session.soon(() => session.payouts.notify(ref, notification));
  } catch (error) {
    if (!isGone(error) || !(await tellAfterTheEnd(session, ref, notification))) throw error;
    return { json: { notified: true }, text: 'notified: the payout has ended, its follow-up checks again' };
  }
  return {
    json: { notified: true },
    text: 'notified: the payout asks the provider, and trusts only its answer',
  };
}

/** False where no such payout has ended. */
async function tellAfterTheEnd(
  { client, soon }: Session,
  { app = 'default', partnerOrderId }: PayoutRef,
  notification: Notification,
): Promise<boolean> {
  return soon(async () => {
    const ended = await endedPayout(
      client,
      payoutWorkflowId(app, partnerOrderId),
      PROCESS_SURROUNDINGS.clock,
    );
    if (ended) await notifyFollowUp(client, ended, notification);
    return ended !== undefined;
  });
}

function stateAnswer(state: PayoutState): Answer {
  return { json: state, text: stateText(state) };
}

function exitOf(results: readonly PayoutResult[]): number {
  return results.every(({ outcome }) => outcome === 'SUCCESS') ? EXIT.ok : EXIT.notPaid;
}
