/** Decides about the payouts that a page has confirmed, and tells what became of each. */
import type { FastifyInstance, FastifyReply } from 'fastify';
import { z } from 'zod';
import type { Caller } from '../config/callers.ts';
import { inParallel } from '../runtime/runtime.ts';
import { Problem } from '../service/problem.ts';
import { decisionBodies, valid } from '../service/requests.ts';
import { allLink, asShown, inboxLink, type Origin, originIn } from './confirm.ts';
import { type Desk, filledIn, getPage, ifKnown, postForm } from './context.ts';
import { DECISION_FIELDS, decidedBy, requireTerms } from './decisions.ts';
import { html, link, money, payoutLink, pill, sentence, status, table, time } from './html.ts';
import type { Visit } from './identity.ts';
import { type Picked, packedPicks, picksIn, type ReadPayout, readPayout, unpackedPicks } from './picks.ts';
import { ACTS, targetOf, type Verb } from './terms.ts';
import { decidableOf, waitingIn } from './waiting.ts';

export function decidedRoutes(scope: FastifyInstance, desk: Desk): void {
  for (const verb of ['approve', 'refuse'] as const) chosenRoute(scope, desk, verb);
  getPage(scope, desk, '/payouts/decided', async (visit, query, reply) => {
    const { verb, picks } = filledIn(query, 'verb', 'picks');
    return {
      section: 'Inbox',
      ...(await decidedPage(desk, visit, valid(decided, { verb }).verb, unpackedPicks(picks), {
        from: originIn(query),
        reply,
      })),
    };
  });
}

const decided = z.object({ verb: z.enum(['approve', 'refuse']) });

async function decidedPage(
  desk: Desk,
  visit: Visit,
  verb: Verb,
  picks: readonly Picked[],
  { from, reply }: { from: Origin; reply: FastifyReply },
) {
  const [results, listed] = await Promise.all([
    inParallel(picks, (one) => resultOf(desk, visit.caller, verb, one, reply)),
    ifKnown(waitingIn(desk, visit, 'approvals', from)),
  ]);
  const failed = results.filter(({ isDone }) => !isDone).length;
  // Lists lag.
  const isPicked = new Set(picks.map((one) => payoutLink(one)));
  const left = decidableOf(visit, listed?.listed ?? []).filter(
    (one) => !isPicked.has(payoutLink(one)),
  ).length;
  return {
    title: `${ACTS[verb][1]} ${results.length - failed} of ${results.length}`,
    content: html`${failed > 0 && html`<p class="warning" role="alert">You didn't ${verb} ${failed} of ${results.length}. The table says why.</p>`}
<p class="buttons">${
      left > 0 &&
      html`<a class="button" href="${from.all ? allLink(verb, from) : `${inboxLink(from)}#approvals`}">${from.all ? 'Review' : 'Show'} ${left === 1 ? 'the one that still waits' : `the ${left} that still wait`}</a>`
    }<a class="button ${left > 0 && 'plain'}" href="${inboxLink(left > 0 ? from : {})}">Back to the inbox</a></p>
${table({ caption: 'Each payout', head: ['Payout', 'Amount#', 'Result', 'What happens now'], rows: results.map(({ cells }) => cells) })}`,
  };
}

/** So many picks with the longest ids. */
const MAX_CHOSEN_BYTES = 64 * 1024;

/** One decision after another, each recorded by itself. The page after it reads what became of each from the payouts. */
function chosenRoute(scope: FastifyInstance, desk: Desk, verb: Verb): void {
  const path = `/payouts/${verb}-chosen`;
  postForm(scope, desk, { path, verb, bodyLimit: MAX_CHOSEN_BYTES }, async ({ caller }, fields, reply) => {
    const body = filledIn(fields, ...DECISION_FIELDS[verb]);
    valid(decisionBodies[verb], body);
    const picks = picksIn(fields);
    await inParallel(picks, async ({ lockRateId, ...id }) => {
      const decide = async () => {
        requireTerms(verb, lockRateId);
        return desk.service.decide(caller, verb, id, {
          ...body,
          ...(lockRateId !== undefined && { lockRateId }),
        });
      };
      const result = await decide().catch((error: unknown) => desk.toProblem(error, reply.request));
      const status = result instanceof Problem ? result.status : 303;
      desk.audit.record({ method: 'POST', path: `/desk${path}`, verb }, reply.request, status, id);
    });
    return reply.redirect(
      link('/desk/payouts/decided', { verb, ...originIn(fields), picks: packedPicks(picks) }),
      303,
    );
  });
}

/** The amount, who decided what, and what happens now, or why it is not decided. */
async function resultOf(
  desk: Desk,
  caller: Caller,
  verb: Verb,
  { lockRateId, ...id }: Picked,
  { request }: FastifyReply,
): Promise<{ isDone: boolean; cells: unknown[] }> {
  const name = html`<a href="${payoutLink(id, 'inbox')}">${id.partnerOrderId}</a>`;
  const not = pill(`NOT_${ACTS[verb][1].toUpperCase()}`, 'bad');
  let payout: ReadPayout | undefined;
  try {
    payout = await readPayout(desk.service, caller, id);
    const { state } = payout;
    const amount = money(targetOf(payout));
    const made = decidedBy(state, lockRateId);
    const now = sentence(state.sentence);
    if (!made && state.phase !== 'AWAITING_APPROVAL')
      return { isDone: false, cells: [name, amount, status(state), now] };
    if (!made) {
      const shown = await asShown(desk, caller, verb, { lockRateId, ...id });
      const why = 'why' in shown ? shown.why : 'it still waits for approval: open it to decide';
      return { isDone: false, cells: [name, amount, not, `${why}.`] };
    }
    const isDone = made.by === caller.name && made.action === verb;
    const what = html`${pill(DECIDED[made.action], isDone ? 'good' : 'warn')} by ${made.by}, ${time(made.at, 'brief')}`;
    return { isDone, cells: [name, amount, what, now] };
  } catch (error) {
    const { message } = desk.toProblem(error, request);
    return { isDone: false, cells: [name, payout && money(targetOf(payout)), not, message] };
  }
}

const DECIDED = { approve: 'APPROVED', refuse: 'REFUSED', cancel: 'CANCELED', resolve: 'RESOLVED' } as const;
