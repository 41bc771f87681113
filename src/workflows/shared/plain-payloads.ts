/**
 * Refuses starts and decisions whose payloads are not encrypted under a key of the workers (H277): otherwise, whoever can
 * write to the namespace can pay.
 *
 * A replay must decide alike, though another worker may have another `PAYOUTS_PLAIN_PAYLOADS`. So a refused start leaves a
 * marker in its history, updates are refused by validators, which no replay runs, and signals depend on nothing but the
 * payloads in the history. See docs/decisions/0036-plain-payloads.md.
 */
import {
  type ActivateInput,
  ApplicationFailure,
  log,
  type Next,
  patched,
  type WorkflowInterceptorsFactory,
  type WorkflowInternalsInterceptor,
  workflowInfo,
} from '@temporalio/workflow';
import { type FieldError, INVALID_PAYOUT_REQUEST } from '../../contract/failures.ts';
import { notificationSignal, pollUpdate, refuseUpdate } from '../../contract/workflows.ts';
import { isEncrypted, isRefused } from '../../domain/payload-origin.ts';
import { notAccepted } from './messages.ts';
import { hasContinuedAsNew } from './run-facts.ts';

const REFUSED_START = 'plain-start-refused';
const NOT_ENCRYPTED = 'must be encrypted under a key of the workers (PAYOUTS_ENCRYPTION_KEYS)';

const FIELDS: FieldError[] = [{ path: 'payload', message: NOT_ENCRYPTED }];

/** They move no money, so that an operator can send them from the Temporal UI. */
const PLAIN_UPDATES: readonly string[] = [pollUpdate.name, refuseUpdate.name];
/** A notification is only a hint. */
const PLAIN_SIGNALS: readonly string[] = [notificationSignal.name];

type Job = NonNullable<ActivateInput['activation']['jobs']>[number];
type Start = NonNullable<Job['initializeWorkflow']>;
type Signal = NonNullable<Job['signalWorkflow']>;

/** One per workflow. */
class Gate implements WorkflowInternalsInterceptor {
  /** The start is plain, and this worker refuses that. */
  refusesStart = false;
  /** The ids of updates that this worker refuses. */
  readonly refusedUpdates = new Set<string>();
  private isEncrypted = false;

  activate(input: ActivateInput, next: Next<WorkflowInternalsInterceptor, 'activate'>): void {
    const { activation } = input;
    for (const { initializeWorkflow: start, doUpdate: update } of activation.jobs ?? []) {
      if (start) this.begin(start);
      if (update?.runValidator && update.input?.some(isRefused)) this.refusedUpdates.add(update.id ?? '');
    }
    activation.jobs = activation.jobs?.filter(({ signalWorkflow }) => !this.ignores(signalWorkflow)) ?? [];
    next(input);
  }

  private begin(start: Start): void {
    const given = start.arguments ?? [];
    // Temporal carries the memo of a run that continues as new, which may be older than the setting. Ours pass their state.
    const memo = hasContinuedAsNew() && given.length > 1 ? {} : (start.memo?.fields ?? {});
    this.isEncrypted = given.length > 0 && given.every(isEncrypted);
    this.refusesStart = [...given, ...Object.values(memo)].some(isRefused);
    // What cannot be decoded would fail the workflow task, again and again.
    if (this.refusesStart && !workflowInfo().unsafe.isReplaying) start.arguments = [];
  }

  /** A run whose start was encrypted takes the signals of our own processes only encrypted. */
  private ignores(signal: Signal | null | undefined): boolean {
    if (!signal || !this.isEncrypted || PLAIN_SIGNALS.includes(signal.signalName ?? '')) return false;
    const given = signal.input ?? [];
    if (given.length > 0 && given.every(isEncrypted)) return false;
    log.warn(`the signal ${signal.signalName} is ignored: it ${NOT_ENCRYPTED}`);
    return true;
  }
}

export const interceptors: WorkflowInterceptorsFactory = () => {
  const gate = new Gate();
  return {
    internals: [gate],
    inbound: [
      {
        async execute(input, next) {
          if ((gate.refusesStart || workflowInfo().unsafe.isReplaying) && patched(REFUSED_START))
            throw ApplicationFailure.nonRetryable(
              `the start ${NOT_ENCRYPTED}`,
              INVALID_PAYOUT_REQUEST,
              FIELDS,
            );
          return next(input);
        },
        validateUpdate(input, next) {
          if (gate.refusedUpdates.delete(input.updateId) && !PLAIN_UPDATES.includes(input.name))
            throw notAccepted(`${input.name} ${NOT_ENCRYPTED}`);
          next(input);
        },
      },
    ],
  };
};
