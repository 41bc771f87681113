/** Bugs that programmers make: small, plausible, each in one place. */
import type { Plan, PlannedDeletion } from '../payouts/planned.ts';

export interface Mutant {
  name: string;
  /** The bug and its consequence. */
  what: string;
  file: string;
  /** Occurs in the file exactly once. */
  find: string;
  replace: string;
  /** Workers run the original code until they are upgraded to the code with the bug. */
  isUpgrade?: true;
  /** Whether a world may show the bug. Other worlds are skipped. Default: every world may. */
  needs?: (plan: Plan) => boolean;
}

export const MUTANTS: readonly Mutant[] = [
  // ---- paid twice
  {
    name: 'lost-answer-is-no-send',
    what: 'A create whose connection broke counts as never received and is sent again: a second payment.',
    file: 'src/payments/outcome.ts',
    find: "return rulesOf(rules.operation).effect === 'read'\n    ? new PaymentsError('UNAVAILABLE', context, `no response",
    replace: "return true\n    ? new PaymentsError('UNAVAILABLE', context, `no response",
  },
  {
    name: 'blind-retry',
    what: 'A create of unknown outcome is sent again under a new lock: a second payment.',
    file: 'src/workflows/payout/create.ts',
    find: "else run.markOutcomeUnknown('unanswered');\n}\n\nasync function sendOnce(",
    replace: 'else run.requote();\n}\n\nasync function sendOnce(',
  },
  {
    name: 'busy-means-not-served',
    what: 'A create answered with 429 is sent again at once, although it may have been executed: a second payment.',
    file: 'src/workflows/payout/create.ts',
    find: "else run.markOutcomeUnknown(meaning === 'busy'",
    replace: "else if (meaning === 'busy') run.requote();\n  else run.markOutcomeUnknown(meaning === 'busy'",
  },
  {
    name: 'window-skipped',
    what: 'The first "order not exist" counts as proof, although queries lag: a second payment.',
    file: 'src/workflows/payout/confirm.ts',
    find: "creation.cause === 'restored' || queriedAtMs < creation.untilMs",
    replace: "creation.cause === 'restored'",
    // After a restore, only a whole window clears a payout: with this bug, it asks for ever.
    needs: ({ restored }) => !restored,
  },
  {
    name: 'old-answer-closes-window',
    what: 'An answer from the middle of the window that waited for the workflow counts as the last one: a second payment.',
    file: 'src/workflows/payout/confirm.ts',
    find: "creation.cause === 'restored' || queriedAtMs < creation.untilMs",
    replace: "creation.cause === 'restored' || Date.now() < creation.untilMs",
  },
  {
    name: 'forgotten-start-trusted',
    what: 'A start that a restored Temporal lost is repeated before queries show its order: a second payment.',
    file: 'src/activities/payout/send-once.ts',
    find: "return sinceRestoreMs < visibleWithinMs ? 'lost-run' : undefined;",
    replace: 'return undefined;',
    needs: ({ restored }) => restored?.forgets === true,
  },
  {
    name: 'new-id-for-each-send',
    what: 'A repeated create has another outOrderId, so its order is not found.',
    file: 'src/workflows/payout/create.ts',
    find: '    partnerOrderId: request.partnerOrderId,',
    replace:
      "    partnerOrderId: request.partnerOrderId + (run.record.creationRestarts > 0 ? '-' + run.record.creationRestarts : ''),",
  },
  {
    name: 'claim-removed',
    what: 'A create is sent without a claim, so a create of a crashed worker counts as not sent: a second payment.',
    file: 'src/activities/payout/create-payout.ts',
    find: 'deadline, beforeSend }',
    replace: 'deadline, beforeSend: async () => undefined && beforeSend() }',
  },
  {
    name: 'outcome-does-not-stand',
    what: 'A payout that ended without an order is sent after a reset, and nobody has decided that.',
    file: 'src/workflows/payout/create.ts',
    find: 'if (run.outcomeStands) {',
    replace: 'if (run.outcomeStands && run.record.sends > 99) {',
  },
  {
    name: 'reset-sends-again',
    what: 'A run created by Workflow Reset does not check whether the previous run has sent: a second payment.',
    file: 'src/activities/payout/send-once.ts',
    find: 'isDoubtful || firstRunId !== runId',
    replace: 'isDoubtful',
  },
  {
    name: 'clearance-of-another-run',
    what: 'The confirmation of one run allows all other runs to send: a second payment after a reset.',
    file: 'src/activities/payout/send-once.ts',
    find: 'cleared ? !isCleared :',
    replace: 'cleared ? false :',
    needs: (plan) =>
      mayPayAgain(plan) &&
      plan.payouts.some(({ interventions }) => interventions.some(({ kind }) => kind === 'reset')),
  },
  {
    name: 'reset-part-promises',
    what: 'A part of a batch that is reset promises that its payouts are new: a second payment once their histories are gone.',
    file: 'src/activities/payout/earlier-runs.ts',
    find: '!start || baseRunsIn(events).length > 0) return LONG_AGO',
    replace: '!start) return LONG_AGO',
    needs: (plan) => paysAgainAfter('reset', plan),
  },
  {
    name: 'server-details-refused',
    what: "Workers refuse the plain details that the server writes into a cancellation: the workflow's tasks fail.",
    file: 'src/encryption/payload-codec.ts',
    find: 'if (text(data) !== NOT_STARTED) throw',
    replace: 'if (text(data) !== undefined) throw',
  },
  {
    name: 'old-part-promises',
    what: 'An old start of a part promises that its payouts are new: a second payment once their histories are gone.',
    file: 'src/workflows/batch/payout-batch-part.ts',
    find: 'isProvenStart(carried ? carried.continuedAt : request.startedAt)',
    replace: '(carried ? isProvenStart(carried.continuedAt) : request.startedAt !== undefined)',
    needs: (plan) => paysAgainAfter('old-start', plan),
  },
  {
    name: 'started-again-as-new',
    what: 'A terminated payout starts again as if it had never sent a create: a second payment.',
    file: 'src/activities/reconciliation/restart-stopped.ts',
    find: 'rejectDuplicate: false })',
    replace: 'rejectDuplicate: new Date(nowMs).toISOString() })',
  },
  {
    name: 'start-does-not-join',
    what: 'A second start of an ended payout creates a new one: a second payment.',
    file: 'src/client/start-once.ts',
    find: 'workflowIdReusePolicy: reuse,',
    replace: "workflowIdReusePolicy: 'ALLOW_DUPLICATE' as const,",
  },

  // ---- reported wrongly
  {
    name: 'refusal-is-proof',
    what: 'A listed code proves that no order exists, while the trade query lags: NOT_CREATED, although the money has left.',
    file: 'src/workflows/payout/confirm.ts',
    find: "if (creation.cause === 'refused') return queriedAtMs >= creation.readsFromMs;",
    replace: "if (creation.cause === 'refused') return true;",
  },
  {
    name: 'lock-expired-trusted',
    what: 'After a code for an expired lock, the create is sent again without a trade query: a second payment.',
    file: 'src/workflows/payout/create.ts',
    find: "else if (meaning === 'lock-expired') run.confirmFirst('refused');",
    replace: "else if (meaning === 'lock-expired') run.requote();",
  },
  {
    name: 'not-created-after-unknown-send',
    what: 'A payout with a send of unknown outcome ends NOT_CREATED, although its order exists.',
    file: 'src/workflows/payout/create.ts',
    find: '  if (run.record.unknownSend) {\n    const { code,',
    replace: '  if (run.record.unknownSend && run.record.sends === 0) {\n    const { code,',
  },
  {
    name: 'cancel-after-send',
    what: 'A cancellation ends a payout without checking what its other runs have sent.',
    file: 'src/workflows/payout/create.ts',
    find: 'if (end.isDecided) throw end;',
    replace: "if (end.isDecided || end.reason.code === 'CANCELLED') throw end;",
  },
  {
    name: 'notification-not-verified',
    what: 'After a notification, result and detail are not compared: wrong sums in the result.',
    file: 'src/workflows/payout/track-order.ts',
    find: 'if (detail && why === undefined) {',
    replace: "if (detail && (why === undefined || learnedBy === 'notification')) {",
  },
  {
    name: 'complete-flag-dropped',
    what: 'A final status counts while splits are still open: an outcome that is not final.',
    file: 'src/domain/payout-trade.ts',
    find: "return trade.targetCurrency === 'CNY' && !trade.complete ? undefined : status;",
    replace: 'return status;',
  },
  {
    name: 'sums-not-compared',
    what: 'The splits are not compared with the totals: wrong amounts in the result.',
    file: 'src/domain/payout-trade.ts',
    find: '    sumMismatch(result, detail, expected.target) ??\n',
    replace: '',
  },
  {
    name: 'money-as-number',
    what: 'Amounts are added as JavaScript numbers: amounts with more digits than a double never add up.',
    file: 'src/contract/money.ts',
    find: 'amount = fromMinorUnits(toMinorUnits(left.amount) + toMinorUnits(right.amount));',
    replace: 'amount = (Number(left.amount) + Number(right.amount)).toFixed(2);',
  },
  {
    name: 'debits-not-confirmed',
    what: 'The first answer with unexpected debits counts: a debit in the result that never happened.',
    file: 'src/workflows/payout/track-order.ts',
    find: 'if (!debitsAreConfirmed(run, finalAttention(status, detail, order.quote))) return undefined;',
    replace: 'debitsAreConfirmed(run, finalAttention(status, detail, order.quote));',
  },
  {
    name: 'refund-ignored',
    what: 'A refund after the payment is not reported.',
    file: 'src/payments/wire/responses.ts',
    find: "refunded: refundFlag && wire.status === 'SUCCESS',",
    replace: "refunded: refundFlag && wire.status === 'FAILED',",
  },
  {
    name: 'purpose-replaced',
    what: 'A payout is created for another purpose than its caller gave.',
    file: 'src/payments/wire/requests.ts',
    find: '    ...rest,\n    outOrderId',
    replace: "    ...{ ...rest, remittancePurposeCode: 'SERVICES' },\n    outOrderId",
  },
  {
    name: 'other-beneficiary-adopted',
    what: 'An order for another beneficiary counts as the payout: no person is asked.',
    file: 'src/domain/payout-order.ts',
    find: 'identityMismatch(order, request, echo) ?? beneficiaryMismatch(order, request, echo)',
    replace: 'identityMismatch(order, request, echo)',
  },
  {
    name: 'earlier-quotes-forgotten',
    what: 'An order of an ended run is not compared with what that run sent: paid at worse terms, and no flag.',
    file: 'src/workflows/payout/adopt-order.ts',
    find: '[...earlierQuotes, ...sentQuotes]',
    replace: '[...sentQuotes]',
    needs: ({ payouts }) => payouts.some(({ request }) => request.platform === 'sim:drift'),
  },
  {
    name: 'approval-not-needed',
    what: 'A payout that requires approval is paid without it.',
    file: 'src/workflows/payout/quote.ts',
    find: "if (run.request.approval === 'none')",
    replace: "if (run.request.approval === 'none' || run.record.refused === undefined)",
  },
  {
    name: 'approval-widened-by-limits',
    what: 'The limits that the starter wrote widen an approval: approved at a fee of 0.07 USD, paid at 7.02.',
    file: 'src/workflows/payout/quote.ts',
    find: 'withinApproval(approved.covers, quote);',
    replace: '(run.request.limits !== undefined || withinApproval(approved.covers, quote));',
  },
  {
    name: 'tolerance-doubled',
    what: 'An approval covers twice the tolerance that the approver gave.',
    file: 'src/domain/payout-quote.ts',
    find: 'pay: increasedBy(pay, tolerance), fee: increasedBy(fee, tolerance)',
    replace:
      'pay: increasedBy(increasedBy(pay, tolerance), tolerance), fee: increasedBy(increasedBy(fee, tolerance), tolerance)',
    needs: ({ prices, payouts }) =>
      prices?.tolerance === '9.99' &&
      prices.changes.some(({ feeRate }) => feeRate === '0.006') &&
      payouts.some(({ approval }) => approval?.verdict === 'approve'),
  },

  // ---- never ends, or is never followed up
  {
    name: 'poll-timer-dropped',
    what: 'A payout waits only for its notification: if it is lost, the payout never ends.',
    file: 'src/workflows/payout/run.ts',
    find: 'const pollAtMs = Date.now() + ms;',
    replace: 'const pollAtMs = Date.now() + 365 * 86_400_000 + ms;',
  },
  {
    name: 'terminated-payouts-forgotten',
    what: 'Reconciliation finds only failed workflows: a terminated payout never continues, with money in flight.',
    file: 'src/activities/reconciliation/reconcile-activities.ts',
    find: "of('payout', stopped), nowMs",
    replace: "of('payout', stopped).filter(({ status }) => status === 'FAILED'), nowMs",
    needs: ({ payouts }) =>
      payouts.some(({ interventions }) => interventions.some(({ kind }) => kind === 'terminate')),
  },
  {
    name: 'follow-up-not-started',
    what: 'Payouts with an order have no follow-up: a refund is never seen.',
    file: 'src/activities/reconciliation/follow-ended.ts',
    find: "OUTCOMES.filter((outcome) => outcome !== 'NOT_CREATED');",
    replace: "OUTCOMES.filter((outcome) => outcome === 'FAILED');",
    needs: ({ awaitsFollowUps }) => awaitsFollowUps,
  },
  {
    name: 'stale-clock-guard-removed',
    what: 'A query may run a workflow ahead on the clock of the previous task: the next replay fails, and the payout is stuck.',
    file: 'src/workflows/shared/stale-clock.ts',
    find: 'batchIndex === 0 &&',
    replace: 'batchIndex < 0 &&',
  },
  {
    name: 'lost-task-trusted',
    what: 'A query runs the events of a task that a dead worker had received, and the next task continues from there: stuck.',
    file: 'src/workflows/shared/stale-clock.ts',
    find: 'if (!live || isConfirmed) return false;',
    replace: 'if (live || !isConfirmed) return false;',
    // Elsewhere, a task is hardly ever lost after a query has run it.
    needs: ({ workflowTaskFaults }) => workflowTaskFaults.lost >= 0.5,
  },
  {
    name: 'branch-on-replay',
    what: 'A workflow branches on whether it replays: it is stuck when it leaves the cache of its worker.',
    file: 'src/workflows/payout/show-state.ts',
    find: 'if (Object.keys(changes).length > 0) upsert',
    replace: 'if (Object.keys(changes).length > 0 && !workflowInfo().unsafe.isReplaying) upsert',
  },

  // ---- tokens
  {
    name: 'rejected-token-kept',
    what: 'A worker keeps a token that the provider rejected: all further calls fail.',
    file: 'src/workers/tokens/token-cache.ts',
    find: '    this.tokens.delete(key);\n    this.rejections.set(',
    replace: '    this.rejections.set(',
  },
  {
    name: 'token-not-replaced',
    what: 'A request to replace a rejected token returns the same token: all further calls fail.',
    file: 'src/workflows/tokens/renewal-run.ts',
    find: 'if (held.fingerprint !== rejected) return false;',
    replace: 'if (held.fingerprint !== rejected || !run.requested) return false;',
  },

  {
    name: 'refresh-token-not-replaced',
    what: 'A renewal keeps its used refresh token: the user has to authorize again each time.',
    file: 'src/workflows/tokens/renewal-run.ts',
    find: 'this.record.held = toHeldGrant(this.owner, grant, Math.random());',
    replace:
      'const { refresh = grant.refresh } = this.record.held ?? {};\n    this.record.held = toHeldGrant(this.owner, { ...grant, refresh }, Math.random());',
  },
  {
    name: 'tokens-shared-by-users',
    what: 'A worker keeps one token for all users: calls use the token of another user.',
    file: 'src/workers/tokens/token-cache.ts',
    find: "return openId === undefined ? 'application' :",
    replace: "return openId === undefined ? 'application' : openId ? 'user' :",
  },
  {
    name: 'callback-works-twice',
    what: 'A callback is accepted in any browser: a person who has its URL takes over the authorization.',
    file: 'src/client/authorizations.ts',
    find: 'return JSON.stringify([kind, this.environment, app, browser]);',
    replace: 'return JSON.stringify([kind, this.environment, app, browser.length > 0]);',
  },
  {
    name: 'waiting-call-not-flagged',
    what: 'A payout whose calls get no token is not flagged: the operator does not see that it is stuck.',
    file: 'src/workflows/shared/request-run.ts',
    find: "this.flag('CALL_WAITS'",
    replace: "void ('CALL_WAITS'",
  },

  {
    name: 'begun-send-replaced',
    what: 'A request for a receiving account that failed is sent again: a second account.',
    file: 'src/workflows/receiving-account/send.ts',
    find: 'run.call(sendWith, sendWith, neverStarted)',
    replace: 'run.call(sendWith, sendWith, () => !isCancellation(neverStarted))',
  },
  {
    name: 'late-call-not-replaced',
    what: 'A call that has waited too long fails instead of being made again: its payout fails.',
    file: 'src/workflows/shared/request-run.ts',
    find: 'return await late(this.calls);',
    replace: 'throw error;',
    needs: ({ operationOutage }) => operationOutage !== undefined,
  },
  {
    name: 'first-call-never-ends',
    what: 'The check of a request waits for the application forever: bad input does not fail, and nothing shows the payout.',
    file: 'src/workflows/payout/prepare.ts',
    find: '      withinMs: BEGIN_WITHIN_MS,\n',
    replace: '',
    needs: ({ operationOutage }) => operationOutage !== undefined,
  },

  // ---- secrets and keys
  {
    name: 'token-not-sealed',
    what: 'Histories hold tokens in plain text: a person who may decode payloads can call the provider as the user.',
    file: 'src/encryption/key-ring.ts',
    find: 'if (!this.#ring) return PLAIN + secret;',
    replace: "if (!this.#ring || purpose === 'access') return PLAIN + secret;",
  },
  {
    name: 'account-number-in-lists',
    what: "A search attribute holds the beneficiary's account number, and search attributes are not encrypted.",
    file: 'src/workflows/payout/show-state.ts',
    find: 'PayoutOrderId: state.orderId,',
    replace: 'PayoutOrderId: run.prepared?.request.receiver.bankAccountNumber,',
  },
  {
    name: 'older-key-forgotten',
    what: 'Only the first key decrypts: workflows that were open during a key rotation are stuck.',
    file: 'src/encryption/key-ring.ts',
    find: 'const key = this.#keys.get(keyId);',
    replace: 'const key = keyId === this.current ? this.#keys.get(keyId) : undefined;',
  },

  // ---- people
  {
    name: 'cancellation-forgotten',
    what: 'A cancellation is accepted without effect: the payout is paid.',
    file: 'src/workflows/payout/handlers.ts',
    find: "  run.cancel(by, reason);\n  await condition(() => record.phase === 'DONE' || record.canceled === undefined);\n  if (record.result?.outcome === 'NOT_CREATED') return;\n",
    replace: '  if (decision) return;\n',
  },
  {
    name: 'state-before-the-decision',
    what: 'A decision returns before the payout has acted on it: every interface shows that it still waits for one.',
    file: 'src/workflows/payout/handlers.ts',
    find: "    await (action === 'resolve' ? carriedOut(run) : condition(() => !awaitsNextStep(run.record)));\n",
    replace: '',
  },
  {
    name: 'ended-with-an-open-question',
    what: 'A payout that was resolved keeps the flag that asks to resolve it.',
    file: 'src/workflows/payout/payout.ts',
    find: '  run.unflag(...WHILE_OPEN);\n',
    replace: '',
  },
  {
    name: 'refusal-forgotten',
    what: 'A refusal counts as an approval: the payout is paid.',
    file: 'src/workflows/payout/handlers.ts',
    find: 'record.refused = { by, note };',
    replace: 'if (record.quote) record.approved = { by, covers: record.quote };\n      void note;',
  },
  {
    name: 'flagged-without-cause',
    what: 'Every payout is flagged as one whose order differs from its quote: operators start to ignore flags.',
    file: 'src/domain/payout-order.ts',
    find: 'order.lockRateId !== quote.lockRateId &&',
    replace: 'order.lockRateId !== quote.exchangeRate &&',
  },

  // ---- batches
  {
    name: 'batch-row-started-twice',
    what: 'The last row of a round stays in the queue: it is started again and counted twice.',
    file: 'src/workflows/batch/payout-batch-part.ts',
    find: 'const rows = this.waiting.splice(0, Math.min(room, MAX_STARTS_AT_ONCE));',
    replace:
      'const count = Math.min(room, MAX_STARTS_AT_ONCE);\n    const rows = this.waiting.slice(0, count);\n    this.waiting.splice(0, Math.min(count, Math.max(1, rows.length - 1)));',
  },
  {
    name: 'batch-goes-on-after-cancel',
    what: 'Rows of a canceled batch count as not started, but are started and paid.',
    file: 'src/workflows/batch/payout-batch-part.ts',
    find: '    this.waiting = [];\n    this.mustReport = true;',
    replace: '    this.mustReport = true;',
  },
  {
    name: 'stopped-part-not-missed',
    what: 'The termination of a part of a batch is not detected: its rows are never paid, and the batch never ends.',
    file: 'src/workflows/batch/payout-batch.ts',
    find: '    run.lost(part);\n',
    replace: '',
  },
  {
    name: 'batch-accepts-other-rows',
    what: 'A batch that exists is started with other rows, and the caller receives no error.',
    file: 'src/client/batches.ts',
    find: 'rowsDigest(rowsIn(rows, known)) !== known.digest',
    replace: 'rowsIn(rows, known).length !== known.count',
  },
  {
    name: 'joined-rows-count-as-started',
    what: 'A batch counts payouts of other callers as started by itself, and its own as joined.',
    file: 'src/client/payouts.ts',
    find: "{ joined: startFactsIn(memo)['batch'] !== batch }",
    replace: "{ joined: startFactsIn(memo)['batch'] === batch }",
  },

  // ---- receiving accounts
  {
    name: 'opening-blind-retry',
    what: 'An opening without an answer is sent again: a second account.',
    file: 'src/workflows/receiving-account/send.ts',
    find: '  record.unknownSends += 1;\n  // A newer worker',
    replace:
      "  if (answer.kind === 'failed') return undefined;\n  record.unknownSends += 1;\n  // A newer worker",
  },
  {
    name: 'canceled-review-stuck',
    what: 'A canceled opening in review accepts no account any more: it never ends.',
    file: 'src/workflows/receiving-account/open-receiving-account.ts',
    find: 'shielded(resolve)',
    replace: 'resolve',
    needs: ({ openings }) =>
      openings.some(({ interventions }) => interventions.some(({ kind }) => kind === 'cancel')),
  },
  {
    name: 'opening-code-is-refusal',
    what: 'Any error code counts as a refusal of an opening: reported as not opened, although the account exists.',
    file: 'src/activities/receiving-account/receiving-account-activities.ts',
    find: 'isCertain: hasRefusalStatus(error)',
    replace: 'isCertain: hasRefusalStatus(error) || true',
  },

  // ---- the rate limit
  {
    name: 'one-call-too-many',
    what: 'The window holds 21 calls: the provider answers 429, or blocks the application.',
    file: 'src/workers/rate-limit/window.ts',
    find: 'taken.length + this.pending - limit;',
    replace: 'taken.length + this.pending - limit - 1;',
  },
  {
    name: 'arrivals-not-proved',
    what: 'A call counts from when it was sent, not from when it may arrive: more than 20 calls in a second.',
    file: 'src/workers/rate-limit/window.ts',
    find: 'sentAtMs + lateMs + marginMs + WINDOW_MS',
    replace: 'sentAtMs + WINDOW_MS + 0 * lateMs * marginMs',
  },
  {
    name: 'predecessor-forgotten',
    what: 'A new lease owner sends at once, although calls of the previous owner still count: too many calls.',
    file: 'src/workers/rate-limit/limiter.ts',
    find: 'this.silentUntilMs = now + term.silentMs;',
    replace: 'this.silentUntilMs = now;',
  },
  {
    name: 'lease-outlives-its-time',
    what: 'A lease is valid for longer than Temporal waits for its owner: two processes send.',
    file: 'src/domain/rate-limit.ts',
    find: 'export const RENEWAL_VALID_MS = 1_300;',
    replace: 'export const RENEWAL_VALID_MS = 13_000;',
  },
  {
    name: 'fence-unchecked-at-write',
    what: 'The lease is not checked when a call is written: a delayed call overlaps with those of the next owner.',
    file: 'src/workers/rate-limit/limiter.ts',
    find: 'active.term !== this.term || !this.term.isValid()) return false;',
    replace: 'active.term !== this.term) return false;',
  },

  // ---- the pause of an application
  {
    name: 'pause-ignored-by-owner',
    what: 'The lease owner sends create calls although the application is paused.',
    file: 'src/workers/rate-limit/limiter.ts',
    find: 'if (this.term.isPaused && creates(call.operation))',
    replace: 'if (this.term.isPaused && creates(call.operation) && this.term.silentMs < 0)',
  },
  {
    name: 'pause-does-not-end-term',
    what: 'The lease owner learns of a pause only with its next term: create calls continue for up to a day.',
    file: 'src/workflows/rate-limit-lease.ts',
    find: 'upsertMemo({ settings: record.settings });\n    term.cancel();',
    replace: 'upsertMemo({ settings: record.settings });',
  },
  {
    name: 'pause-forgotten-by-reset',
    what: 'A lease that was reset, and then replaced before a worker ran it, forgets its pause: create calls are sent.',
    file: 'src/client/lease-settings.ts',
    find: "if (status.name === 'RUNNING' && !raw.pendingWorkflowTask) return settings;",
    replace: 'if (status) return settings;',
    // Setting a policy replaces the lease: no worker may have run the reset one meanwhile, and the pause must go on.
    needs: ({ pause, policy }) => {
      if (pause?.lease?.kind !== 'reset' || !policy) return false;
      const resetAtMs = pause.atMs + pause.lease.atMs;
      const endMs = Math.min(resetAtMs + 10_000, pause.atMs + pause.lastsMs);
      return resetAtMs < policy.atMs && policy.atMs < endMs;
    },
  },
  {
    name: 'pause-forgotten-by-next-owner',
    what: 'An owner that does not give its lease back takes the pause with it: the next one sends.',
    file: 'src/workflows/rate-limit-lease.ts',
    find: "record.previousOwner = 'unknown';",
    replace:
      "record.previousOwner = 'unknown';\n    record.settings = { ...record.settings, paused: undefined };",
  },
  {
    name: 'pause-ends-with-lease-workflow',
    what: 'A terminated lease is started again without the pause: create calls are sent.',
    file: 'src/workers/kept-workflows.ts',
    find: 'settings: await latestSettings(client, last)',
    replace: 'settings: { ...(await latestSettings(client, last)), paused: undefined }',
    needs: ({ pause }) => pause?.lease?.kind === 'terminate',
  },

  // ---- shared settings
  {
    name: 'policy-of-the-start',
    what: 'Only the start reads the approval policy: a payout that runs already is paid without the approval.',
    file: 'src/activities/payout/create-payout.ts',
    find: '!isApproved && requiresApproval(',
    replace: 'false && requiresApproval(',
  },
  {
    name: 'old-settings-after-a-failover',
    what: 'Settings from before a failover count: a create that Temporal has lost is sent again.',
    file: 'src/domain/rate-limit.ts',
    find: 'settings.shared?.failoverVersion === failoverVersion ?',
    replace: 'failoverVersion ?',
    needs: ({ restored, failover }) => restored?.forgets === true && failover !== undefined,
  },
  {
    name: 'recovery-not-set',
    what: 'The time of the restore is not recorded: payouts from before it send again.',
    file: 'src/client/shared-settings.ts',
    find: "recoveredAt: recoveredAt === 'now' ? now : recoveredAt,",
    replace: "recoveredAt: recoveredAt === 'now' ? now : (before?.recoveredAt ?? null),",
  },

  // ---- restore
  {
    name: 'opening-ignores-restore',
    what: 'An opening does not check when it began, so a restored Temporal opens a second account.',
    file: 'src/activities/receiving-account/receiving-account-activities.ts',
    find: 'const isForgotten = recoveredAtMs !== undefined',
    replace: 'const isForgotten = recoveredAtMs === 0',
  },

  {
    name: 'bad-input-hides-a-payout',
    what: "A start with bad input under a payout's id counts as its end: the payout is never continued.",
    file: 'src/activities/reconciliation/restart-stopped.ts',
    find: "if (decisive === undefined || decisive.saidNotCreated) return 'nothing';",
    replace: "if (isBadInput || decisive === undefined || decisive.saidNotCreated) return 'nothing';",
  },

  // ---- the provider's text
  {
    name: 'bad-byte-hides-the-status',
    what: 'An answer with one byte that is not UTF-8 counts as unreadable: the payout never learns its outcome.',
    file: 'src/payments/envelope.ts',
    find: '{ replaceBadBytes: true }',
    replace: '{ replaceBadBytes: false }',
  },
  {
    name: 'descriptions-as-received',
    what: "The provider's escape sequences reach terminals, logs and pages.",
    file: 'src/payments/wire/scalars.ts',
    find: 'plainText(value.slice(0, max))',
    replace: 'value.slice(0, max)',
  },

  // ---- several applications
  {
    name: 'create-with-a-revoked-token',
    what: 'A create call does not wait for a renewal: with a revoked token, its outcome is unknown, and a person decides.',
    file: 'src/workers/tokens/token-cache.ts',
    find: 'if (creates) await this.untilRenewed(owner);',
    replace: 'if (creates && false) await this.untilRenewed(owner);',
    needs: ({ isFaultFree, settings }) => isFaultFree && settings.earlierAccessTokens === 'revoked',
  },
  {
    name: 'applications-share-a-token',
    what: "A worker uses the first application's token for all: another application's payouts stop.",
    file: 'src/contract/ids.ts',
    find: 'tokenWorkflowId = (app: string, openId?: string) =>',
    replace: "tokenWorkflowId = (_: string, openId?: string, app = openId ? _ : 'default') =>",
  },

  // ---- order of the calls
  {
    name: 'creates-wait-for-polls',
    what: 'Creates have the lowest priority: their locks run out while polls and follow-ups use the rate limit.',
    file: 'src/workflows/shared/calls.ts',
    find: '  create: 1,\n',
    replace: '  create: 5,\n',
  },
  {
    name: 'clients-share-one-turn',
    what: 'All clients have one fairness key: a payout waits behind all payouts that a large client has begun.',
    file: 'src/workflows/shared/calls.ts',
    find: 'fairnessKey: fairnessKey(',
    replace: "fairnessKey: 'all' || fairnessKey(",
  },

  // ---- events
  {
    name: 'events-overtake',
    what: 'After a failure, the later events of a payout are sent: callers learn of the end before what led to it.',
    file: 'src/domain/events-delivery.ts',
    find: 'if (!isDue || failures > 0) blocked.add(key);',
    replace: '',
  },
  {
    name: 'refused-event-is-delivered',
    what: 'Any answer of an endpoint counts as a delivery: callers never learn of events that it refused.',
    file: 'src/activities/events/event-activities.ts',
    find: 'if (status >= 200 && status < 300)',
    replace: 'if (status >= 200)',
  },
  {
    name: 'end-published-before-it-is-verified',
    what: 'The end of a payout is published without its result: callers book another outcome, or none.',
    file: 'src/domain/events.ts',
    find: "if (phase !== 'DONE' || !outcome || published.isCompleted) return;",
    replace: "if (phase !== 'DONE' || outcome !== 'SUCCESS' || published.isCompleted) return;",
  },

  // ---- what is between us and the provider
  {
    name: 'encoded-answers-unread',
    what: 'Bodies that a gateway has encoded are not decoded: no payout goes on.',
    file: 'src/payments/transport.ts',
    find: 'return decode && !isPlain ?',
    replace: 'return decode && isPlain ?',
  },
  {
    name: 'creates-on-used-connections',
    what: 'A create meets a connection that the provider resets, so its outcome is unknown: payouts go to review.',
    file: 'src/payments/request.ts',
    find: "const isFresh = fresh || effect !== 'read';",
    replace: 'const isFresh = effect === undefined;',
  },
  {
    name: 'failed-counts-as-returned',
    what: 'A payment that failed and whose refund_flag is set is reported as returned money.',
    file: 'src/payments/wire/responses.ts',
    find: "refundFlag && wire.status === 'SUCCESS'",
    replace: 'refundFlag',
  },

  // ---- what the spec leaves open
  {
    name: 'rate-label-trusted',
    what: 'The limit `minRate` compares the rate that the provider shows, not the amounts: payouts end, or cost more.',
    file: 'src/domain/payout-quote.ts',
    find: '!reachesRate(quote.target, limits.minRate, quote.pay)',
    replace: 'Number(quote.exchangeRate) < Number(limits.minRate)',
  },
  {
    name: 'unreadable-balance-hides-the-quote',
    what: 'A balance that cannot be read makes the quote unreadable: no payout goes on.',
    file: 'src/payments/wire/scalars.ts',
    find: '  .transform((read) => inCurrency(read.currency, read.amount))\n  .catch(undefined);',
    replace: '  .transform((read) => inCurrency(read.currency, read.amount));',
  },
  {
    name: 'single-payment-is-no-list',
    what: 'A detail with one payment, as an object instead of a list, counts as a detail without any.',
    file: 'src/payments/wire/scalars.ts',
    find: 'Object.keys(value).length === 0 ? [] : [value]',
    replace: 'Object.keys(value).length > 0 ? [] : [value]',
  },
  {
    name: 'masks-hide-every-difference',
    what: 'A masked beneficiary counts as the requested one, whatever is visible: money goes to somebody else.',
    file: 'src/domain/provider-text.ts',
    find: 'if (withoutSpaces(found) === withoutSpaces(sent)) return false;',
    replace: 'if (isMasked(found) || withoutSpaces(found) === withoutSpaces(sent)) return false;',
  },
  {
    name: 'exponent-off-by-one',
    what: 'The amount `1.0E7` is read as a tenth: a result names sums that the provider does not know.',
    file: 'src/payments/wire/scalars.ts',
    find: 'movePoint(whole, fraction, Number(exponent));',
    replace: 'movePoint(whole, fraction, Number(exponent) - 1);',
  },
  {
    name: 'trade-of-another-number-adopted',
    what: 'The trade query may name any order, and the payout reports the end of that one as its own.',
    file: 'src/domain/payout-record.ts',
    find: "(ids === 'same' ? orderId : trade.orderId)",
    replace: '(ids && trade.orderId)',
  },
  {
    name: 'unknown-pair-trusted',
    what: 'A trade query under the client of another payer counts as proof that no order exists: a second payment.',
    file: 'src/workflows/payout/confirm.ts',
    find: '  if (!answer.isPairKnown) return false;\n',
    replace: '',
    needs: ({ dialect }) => dialect !== undefined && dialect.strangersOfClients.length > 0,
  },
  // ---- upgrade
  {
    name: 'step-added-without-patch',
    what: 'New code issues a command that recorded histories lack: open payouts stop at the upgrade.',
    file: 'src/workflows/payout/payout.ts',
    find: 'if (!carried) await findEarlierOrder(run);',
    replace: 'if (!carried) await condition(() => false, 1).then(() => findEarlierOrder(run));',
    isUpgrade: true,
  },
];

/** Whether histories are deleted before a part runs again, and nothing but the part's promise prevents a second payment. */
function paysAgainAfter(repeat: PlannedDeletion['repeat'], plan: Plan): boolean {
  return plan.deletion?.repeat === repeat && mayPayAgain(plan);
}

/** A repeated create call is a second payment, and no call right before it asks for the order. */
function mayPayAgain({ env, settings }: Plan): boolean {
  return env['PAYOUTS_CREATE_CHECK'] === 'doubtful' && settings.repeatedCreate === 'pay-again';
}
