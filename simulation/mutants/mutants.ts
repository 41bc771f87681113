/** Bugs that programmers make: small, plausible, each in one place. */

export interface Mutant {
  name: string;
  /** The bug and its consequence. */
  what: string;
  file: string;
  /** Occurs in the file exactly once. */
  find: string;
  replace: string;
}

export const MUTANTS: readonly Mutant[] = [
  // ---- paid twice
  {
    name: 'lost-answer-is-no-send',
    what: 'A create whose connection broke counts as never received and is sent again: paid twice.',
    file: 'src/payments/outcome.ts',
    find: "return rulesOf(rules.operation).effect === 'read'\n    ? new UnavailableError(context, `no answer",
    replace: 'return true\n    ? new UnavailableError(context, `no answer',
  },
  {
    name: 'blind-retry',
    what: 'A create of unknown outcome is simply made again under a new lock: paid twice.',
    file: 'src/workflows/payout/create.ts',
    find: "else markOutcomeUnknown(run, 'unanswered');\n}\n\nasync function sendOnce(",
    replace: 'else requote(run);\n}\n\nasync function sendOnce(',
  },
  {
    name: 'busy-means-not-served',
    what: 'A create that was answered 429 is made again at once, though it may have been served: paid twice.',
    file: 'src/workflows/payout/create.ts',
    find: "  else if (meaning === 'busy') markOutcomeUnknown(run, meaning);\n",
    replace: '',
  },
  {
    name: 'window-skipped',
    what: 'The first "order not exist" counts as proof, although reads lag: paid twice.',
    file: 'src/workflows/payout/confirm.ts',
    find: "creation.cause === 'restored' || askedAtMs < creation.untilMs",
    replace: "creation.cause === 'restored'",
  },
  {
    name: 'forgotten-start-trusted',
    what: 'A start that a restored Temporal has lost, started again before queries show its order, pays twice.',
    file: 'src/activities/payout/send-once.ts',
    find: "return sinceRestoreMs < visibleWithinMs ? 'forgotten' : undefined;",
    replace: 'return undefined;',
  },
  {
    name: 'number-for-each-try',
    what: 'A create that is made again gets a number of its own, by which nobody looks for its order.',
    file: 'src/workflows/payout/create.ts',
    find: '  return {\n    partnerOrderId,\n    lockRateId: quote.lockRateId,',
    replace:
      "  const { restarts } = run.record;\n  return {\n    partnerOrderId: restarts > 0 ? partnerOrderId + '-' + restarts : partnerOrderId,\n    lockRateId: quote.lockRateId,",
  },
  {
    name: 'claim-removed',
    what: 'A create leaves without a claim, so one that was sent by a worker that died counts as not sent: paid twice.',
    file: 'src/activities/payout/create-payout.ts',
    find: '{ ...optionsOf(caller), deadline, beforeSend }',
    replace: '{ ...optionsOf(caller), deadline, beforeSend: async () => undefined && beforeSend() }',
  },
  {
    name: 'reset-sends-again',
    what: 'A run that a Workflow Reset made does not ask whether the run before it has sent: paid twice.',
    file: 'src/activities/payout/send-once.ts',
    find: 'isDoubtful || firstRunId !== runId',
    replace: 'isDoubtful',
  },
  {
    name: 'clearance-of-another-run',
    what: 'What one run has confirmed lets every other run send: paid twice after a reset.',
    file: 'src/activities/payout/send-once.ts',
    find: 'cleared ? !isCleared :',
    replace: 'cleared ? false :',
  },
  {
    name: 'started-again-as-new',
    what: 'A payout whose workflow was terminated starts again as if it had never sent anything: paid twice.',
    file: 'src/activities/aftercare/adopt-stopped.ts',
    find: 'rejectDuplicate: false,',
    replace: 'rejectDuplicate: true,',
  },
  {
    name: 'start-does-not-join',
    what: 'A second start of a payout that has ended begins it anew: paid twice.',
    file: 'src/client/start-once.ts',
    find: 'workflowIdReusePolicy: reuse,',
    replace: "workflowIdReusePolicy: 'ALLOW_DUPLICATE' as const,",
  },

  // ---- reported wrongly
  {
    name: 'unlisted-code-is-refusal',
    what: 'Any failing code of a create counts as a refusal: NOT_CREATED, and the money has left.',
    file: 'src/payments/classify.ts',
    find: "return meaning === undefined ? 'ambiguous' : { createRefused: meaning };",
    replace: "return code === undefined ? 'ambiguous' : { createRefused: meaning ?? 'refused' };",
  },
  {
    name: 'not-created-after-unknown-send',
    what: 'A send of unknown outcome does not keep a payout from ending NOT_CREATED, though its order exists.',
    file: 'src/workflows/payout/create.ts',
    find: '  if (run.record.unknownSend) {\n    const { code,',
    replace: '  if (run.record.unknownSend && run.record.sends === 0) {\n    const { code,',
  },
  {
    name: 'cancel-after-send',
    what: 'A cancellation ends a payout without a look at what other runs of it have sent.',
    file: 'src/workflows/payout/create.ts',
    find: 'if (end.isDecided) throw end;',
    replace: "if (end.isDecided || end.reason.code === 'CANCELLED') throw end;",
  },
  {
    name: 'notification-believed',
    what: 'After a notification, result and detail are not compared: wrong sums are reported.',
    file: 'src/workflows/payout/verify-result.ts',
    find: 'if (detail && why === undefined) {',
    replace: "if (detail && (why === undefined || learnedBy === 'notification')) {",
  },
  {
    name: 'complete-flag-dropped',
    what: 'A final status counts while payments are still open: an end is reported that is none.',
    file: 'src/domain/trade-verdict.ts',
    find: "return trade.targetCurrency === 'CNY' && !trade.complete ? undefined : status;",
    replace: 'return status;',
  },
  {
    name: 'sums-not-compared',
    what: 'The sums of the payments are not compared with the totals: wrong amounts are reported.',
    file: 'src/domain/trade-verdict.ts',
    find: '    sumMismatch(result, detail, expected.target) ??\n',
    replace: '',
  },
  {
    name: 'money-as-number',
    what: 'Amounts are added as JavaScript numbers: what has more digits than a double never adds up.',
    file: 'src/domain/money.ts',
    find: 'amount: fromMinorUnits(toMinorUnits(left.amount) + toMinorUnits(right.amount)),',
    replace: 'amount: (Number(left.amount) + Number(right.amount)).toFixed(2),',
  },
  {
    name: 'debits-believed-at-once',
    what: 'Debits other than quoted count at the first odd answer: a debit is reported that never was.',
    file: 'src/workflows/payout/verify-result.ts',
    find: 'if (!debitsAreSettled(run, finalAttention(status, detail, order.quote))) return undefined;',
    replace: 'debitsAreSettled(run, finalAttention(status, detail, order.quote));',
  },
  {
    name: 'refund-ignored',
    what: 'Nobody is told that money came back after it was paid.',
    file: 'src/payments/wire/trade.ts',
    find: 'refunded: wire.refund_flag,',
    replace: "refunded: wire.refund_flag && wire.status === 'FAILED',",
  },
  {
    name: 'other-beneficiary-adopted',
    what: 'An order that pays somebody else counts as the payout: nobody is asked.',
    file: 'src/domain/order-check.ts',
    find: 'identityMismatch(order, request) ?? beneficiaryMismatch(order, request)',
    replace: 'identityMismatch(order, request)',
  },
  {
    name: 'approval-not-needed',
    what: 'A payout that needs an approval is paid without one.',
    file: 'src/workflows/payout/approval.ts',
    find: "if (run.request.approval !== 'required')",
    replace: "if (run.request.approval !== 'required' || run.record.refused === undefined)",
  },

  // ---- never ends, or never followed
  {
    name: 'poll-timer-dropped',
    what: 'A payout waits for its notification only: one that is lost leaves it open for ever.',
    file: 'src/workflows/payout/wait.ts',
    find: 'const pollAtMs = Date.now() + ms;',
    replace: 'const pollAtMs = Date.now() + 365 * 86_400_000 + ms;',
  },
  {
    name: 'terminated-payouts-forgotten',
    what: 'Reconciliation sees failed workflows only: a terminated payout stays as it is, with money in flight.',
    file: 'src/activities/aftercare/adopt-stopped.ts',
    find: 'const STOPPED = `ExecutionStatus IN $',
    replace: "const STOPPED = `ExecutionStatus = 'Failed' AND ExecutionStatus IN $",
  },
  {
    name: 'follow-up-not-started',
    what: 'Payouts that ended with an order are not followed up: money that comes back is never seen.',
    file: 'src/activities/aftercare/follow-ended.ts',
    find: "OUTCOMES.filter((outcome) => outcome !== 'NOT_CREATED');",
    replace: "OUTCOMES.filter((outcome) => outcome === 'FAILED');",
  },
  {
    name: 'stale-clock-guard-removed',
    what: 'A query may run a workflow ahead on the clock of the task before: it is stuck at its next replay.',
    file: 'src/workflows/shared/stale-clock.ts',
    find: 'if (clockMoved || now.historyBytes !== last.historyBytes) return false;',
    replace: 'if (clockMoved || now.historyBytes <= last.historyBytes) return false;',
  },
  {
    name: 'branch-on-replay',
    what: "What a workflow does depends on whether it replays: it is stuck once it has left a worker's memory.",
    file: 'src/workflows/payout/show-state.ts',
    find: 'if (changed.length > 0) upsert',
    replace: 'if (changed.length > 0 && !workflowInfo().unsafe.isReplaying) upsert',
  },
  {
    name: 'branch-on-history-length',
    what: 'A wait ends by the length of the history, which is not the same in a replay: the renewal is stuck.',
    file: 'src/workflows/tokens/renewal-run.ts',
    find: 'return this.updates >= MAX_UPDATES;',
    replace: 'return isHistoryLong() || this.updates >= MAX_UPDATES;',
  },

  // ---- tokens
  {
    name: 'rejected-token-kept',
    what: 'A worker goes on with a token that the provider has rejected: no call gets through any more.',
    file: 'src/workers/tokens/token-cache.ts',
    find: '    this.tokens.delete(key);\n    this.rejections.set(',
    replace: '    this.rejections.set(',
  },
  {
    name: 'token-not-replaced',
    what: 'Whoever was turned away is given the same token again: no call gets through any more.',
    file: 'src/workflows/tokens/handlers.ts',
    find: 'if (held.fingerprint !== rejected) return false;',
    replace: 'if (held.fingerprint !== rejected || !run.asked) return false;',
  },

  {
    name: 'refresh-token-not-replaced',
    what: 'A renewal keeps the refresh token that it has used up: the user has to authorize again, every time.',
    file: 'src/workflows/tokens/renewal-run.ts',
    find: 'this.record.held = toHeldGrant(this.owner, grant, askedAtMs, Math.random());',
    replace:
      'const { refresh = grant.refresh } = this.record.held ?? {};\n    this.record.held = toHeldGrant(this.owner, { ...grant, refresh }, askedAtMs, Math.random());',
  },
  {
    name: 'tokens-shared-by-users',
    what: "A worker keeps one token for all users: calls go out with another user's.",
    file: 'src/workers/tokens/token-cache.ts',
    find: "return openId === undefined ? 'application' :",
    replace: "return openId === undefined ? 'application' : openId ? 'user' :",
  },
  {
    name: 'callback-works-twice',
    what: 'A callback is taken in any browser: whoever finds its address takes over the authorization.',
    file: 'src/client/attempt-states.ts',
    find: "return JSON.stringify(['state', this.environment, app, browser]);",
    replace: "return JSON.stringify(['state', this.environment, app, browser.length > 0]);",
  },
  {
    name: 'waiting-call-not-flagged',
    what: 'A payout whose calls get no token is not flagged: nobody knows that it stands still.',
    file: 'src/workflows/payout/call-watch.ts',
    find: 'this.parts.flag(',
    replace: 'void (',
  },

  // ---- secrets and keys
  {
    name: 'token-sealed-by-nobody',
    what: 'Tokens stand in histories as they are: whoever may decode payloads can call the provider as the user.',
    file: 'src/encryption/token-seal.ts',
    find: 'if (!this.ring) return PLAIN + secret;',
    replace: "if (!this.ring || purpose === 'access') return PLAIN + secret;",
  },
  {
    name: 'account-number-in-lists',
    what: "A beneficiary's account number stands in a search attribute, which nobody encrypts.",
    file: 'src/workflows/payout/show-state.ts',
    find: '{ PayoutOrderId: [state.orderId] }',
    replace: '{ PayoutOrderId: [run.request.receiver.bankAccountNumber] }',
  },
  {
    name: 'older-key-forgotten',
    what: 'Only the first key opens payloads: what was open when the key was replaced is stuck.',
    file: 'src/encryption/key-ring.ts',
    find: 'const key = this.keys.get(keyId);',
    replace: 'const key = keyId === this.current ? this.keys.get(keyId) : undefined;',
  },

  // ---- people
  {
    name: 'cancellation-forgotten',
    what: 'A cancellation is answered as taken and has no effect: the payout is paid.',
    file: 'src/workflows/payout/handlers.ts',
    find: "  run.cancel(by, reason);\n  await condition(() => run.record.phase === 'DONE' || run.record.cancelled === undefined);\n  if (run.record.result?.outcome !== 'NOT_CREATED')\n    throw notAccepted('the cancellation had no effect: the order exists, or may exist');\n",
    replace: '  void [by, reason];\n',
  },
  {
    name: 'refusal-forgotten',
    what: 'A refusal counts as an approval: the payout is paid.',
    file: 'src/workflows/payout/handlers.ts',
    find: 'record.refused = { by, note };',
    replace: 'if (record.quote) record.approved = { by, quote: record.quote };\n      void note;',
  },
  {
    name: 'flagged-without-cause',
    what: 'Every payout is flagged as one whose order differs from its quote: nobody looks at flags any more.',
    file: 'src/domain/order-check.ts',
    find: 'order.lockRateId !== quote.lockRateId &&',
    replace: 'order.lockRateId !== quote.exchangeRate &&',
  },

  // ---- batches
  {
    name: 'batch-row-started-twice',
    what: 'The last row of a round is still in line at the next one: it is started again, and counted twice.',
    file: 'src/workflows/batch/part-run.ts',
    find: 'const rows = this.waiting.splice(0, Math.min(room, MAX_STARTS_AT_ONCE));',
    replace:
      'const count = Math.min(room, MAX_STARTS_AT_ONCE);\n    const rows = this.waiting.slice(0, count);\n    this.waiting.splice(0, Math.min(count, Math.max(1, rows.length - 1)));',
  },
  {
    name: 'batch-goes-on-after-cancel',
    what: 'Rows of a batch that was cancelled are counted as not started, and are started and paid.',
    file: 'src/workflows/batch/part-run.ts',
    find: '    this.waiting = [];\n    this.mustReport = true;',
    replace: '    this.mustReport = true;',
  },
  {
    name: 'stopped-part-not-missed',
    what: 'Nobody notices that a part of a batch was terminated: its rows are never paid, and the batch never ends.',
    file: 'src/workflows/batch/signal-parts.ts',
    find: '    run.lost(slice);\n',
    replace: '',
  },
  {
    name: 'batch-takes-other-rows',
    what: 'A batch is started with other rows under the same name, and its caller is told that all is well.',
    file: 'src/client/batches.ts',
    find: 'rowsDigest(rowsIn(rows, known)) !== known.digest',
    replace: 'rowsIn(rows, known).length !== known.count',
  },
  {
    name: 'joined-rows-count-as-started',
    what: 'A batch tells of payouts as its own that somebody else has started, and the other way round.',
    file: 'src/client/payouts.ts',
    find: "joined: memo['batch'] !== batchId",
    replace: "joined: memo['batch'] === batchId",
  },

  // ---- receiving accounts
  {
    name: 'opening-blind-retry',
    what: 'An opening that was never answered is simply asked for again: two accounts.',
    file: 'src/workflows/receiving-account/send.ts',
    find: "    case 'failed':\n      record.unsettled += 1;\n      return { cause: 'unknown', why: answer.message };",
    replace: "    case 'failed':\n      return { nothingSent: true };",
  },
  {
    name: 'canceled-review-stuck',
    what: 'Once canceled, an opening in review takes no account any more: it is open for ever.',
    file: 'src/workflows/receiving-account/handlers.ts',
    find: 'shielded(resolve)',
    replace: 'resolve',
  },
  {
    name: 'opening-code-is-refusal',
    what: 'Any code counts as a refusal of an opening: told as not opened, and the account is there.',
    file: 'src/activities/receiving-account/open-receiving-account.ts',
    find: 'surely: hasRefusalStatus(error)',
    replace: 'surely: hasRefusalStatus(error) || true',
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
    what: 'A call counts from when it was sent, not from when it may arrive: more than 20 in a second.',
    file: 'src/workers/rate-limit/window.ts',
    find: 'sentAtMs + Math.min(lateMs, this.maxLateMs) + marginMs + WINDOW_MS',
    replace: 'sentAtMs + WINDOW_MS + 0 * Math.min(lateMs, this.maxLateMs) * marginMs',
  },
  {
    name: 'predecessor-forgotten',
    what: 'A new lease owner sends at once, though calls of the owner before it still count: too many calls.',
    file: 'src/workers/rate-limit/limiter.ts',
    find: 'this.silentUntilMs = now + term.silentMs;',
    replace: 'this.silentUntilMs = now;',
  },
  {
    name: 'lease-outlives-its-time',
    what: 'A lease counts for longer than Temporal waits for its owner: two processes send.',
    file: 'src/domain/rate-limit-lease.ts',
    find: 'export const RENEWAL_VALID_MS = 1_300;',
    replace: 'export const RENEWAL_VALID_MS = 13_000;',
  },
  {
    name: 'fence-unchecked-at-write',
    what: 'The lease is not checked when a call is written: one that waited long leaves beside those of the next owner.',
    file: 'src/workers/rate-limit/limiter.ts',
    find: 'active.term !== this.term || !this.term.isValid()) return false;',
    replace: 'active.term !== this.term) return false;',
  },

  // ---- nobody is told
  {
    name: 'opening-trusts-a-restore',
    what: 'The opening of a receiving account forgets when it began, so a restored Temporal opens a second one.',
    file: 'src/activities/receiving-account/open-receiving-account.ts',
    find: 'const isForgotten = recoveredAtMs !== undefined',
    replace: 'const isForgotten = recoveredAtMs === 0',
  },
];
