/** What a seed determines: the payouts, the behavior of the provider, the faults, and what people do. `plan.ts` draws it. */
import type { FaultInput, FaultRuleInput, SettingsChange } from '../../simulator/index.ts';
import type { Environment } from '../../src/config/environment.ts';
import type { PayoutRequest } from '../../src/contract/payout-request.ts';
import type { Losses } from '../temporal/rpc.ts';
import type { WorkflowTaskFaults } from '../temporal/workflow-tasks.ts';

export const PROCESS_FAULT_KINDS = [
  'kill',
  'stop',
  'freeze',
  'cut-off',
  'cut-off-from-provider',
  'clock-jump',
] as const;

export type ProcessFaultKind = (typeof PROCESS_FAULT_KINDS)[number];

export interface ProcessFault {
  atMs: number;
  /** Index of the process. */
  process: number;
  kind: ProcessFaultKind;
  lastsMs: number;
}

export type Intervention =
  | { kind: 'cancel'; atMs: number }
  | { kind: 'terminate'; atMs: number }
  /** The same body again: the start joins the existing payout. */
  | { kind: 'start-again'; atMs: number }
  /** Another body under the same `partnerOrderId`. */
  | { kind: 'start-different-body'; atMs: number }
  | { kind: 'reset'; atMs: number; part: number; thenCancels: boolean };

export interface PlannedPayout {
  number: number;
  atMs: number;
  request: PayoutRequest;
  /** The batch that has this payout as a row. */
  batch: string | undefined;
  /** Measured from when the payout waits for approval. */
  approval: { afterMs: number; verdict: 'approve' | 'refuse' } | undefined;
  interventions: Intervention[];
}

export type BatchIntervention =
  | { kind: 'start-again' | 'start-other-rows' | 'cancel' | 'terminate'; atMs: number }
  | { kind: 'terminate-part'; atMs: number };

export interface PlannedBatch {
  batchId: string;
  atMs: number;
  /** Rows per update for a caller that does not use our client; undefined if the caller uses our client. */
  rowsPerAdd: number | undefined;
  /** Such a caller stops after this number of updates. The operator resumes the batch later. */
  maxAdds: number;
  interventions: BatchIntervention[];
}

export interface OpeningIntervention {
  kind: 'start-again' | 'start-different-body' | 'cancel' | 'reset';
  atMs: number;
  /** How far back the reset goes, as a fraction of the workflow tasks. */
  part: number;
}

export interface PlannedOpening {
  requestId: string;
  /** Unique to the request: the provider does not return which request an account belongs to. */
  payerId: string;
  currency: string;
  openId: string | undefined;
  atMs: number;
  interventions: OpeningIntervention[];
}

export interface PlannedStranger {
  number: number;
  atMs: number;
  /** Waits until the payout's workflow has been terminated. */
  afterTermination: boolean;
  /** Terminates a running workflow of that id. Otherwise such a start has no effect. */
  replacesRunning: boolean;
  /** Index of the request. */
  request: number;
}

export type TokenKind = 'application' | 'user';

export interface PlannedUser {
  openId: string;
  authorizesAtMs: number;
  /** How often the user denies access before allowing it. */
  denials: number;
  /** When the renewal workflow of the user's token is terminated. */
  terminatedAtMs: number | undefined;
}

export interface PlannedUsers {
  users: PlannedUser[];
  /** Which kind of token the provider requires. */
  gateway: TokenKind;
  trade: TokenKind;
  tokenSeconds: number;
  refreshTokenSeconds: number;
  rotation: 'rotate' | 'keep';
  previousIsValid: boolean;
}

export interface PlannedEvents {
  seed: number;
  /** How often a request fails while faults last. */
  failing: number;
  /** When the endpoint answers 410 from then on. */
  goneAtMs: number | undefined;
}

export interface PlannedPause {
  atMs: number;
  lastsMs: number;
  /** What happens to the workflow of the lease during the pause. */
  lease: { atMs: number; kind: 'terminate' | 'reset'; part: number } | undefined;
}

export interface PlannedDeletion {
  /** How the part runs again whose payouts' histories are deleted. */
  repeat: 'reset' | 'old-start';
}

export interface PlannedPolicy {
  atMs: number;
}

export interface PlannedPrices {
  changes: readonly { atMs: number; feeRate: string }[];
  /** In percent. Approvers give it with each decision. */
  tolerance: string | undefined;
  /** Of each payout that requires an approval. */
  limits: PayoutRequest['limits'];
}

export interface PlannedDialect {
  /** Whether the product's settings fit the provider. */
  fits: boolean;
  /** Payers whose orders no trade query of their payouts shows. */
  strangersOfClients: readonly string[];
}

export interface PlannedRotation {
  atMs: number;
  /** The time between the rollout that adds the new key for reading and the one that writes with it. */
  pauseMs: number;
}

export interface PlannedUpgrade {
  atMs: number;
}

/** The operation and the fault that replaces its answers. */
export interface PlannedOperationOutage {
  operation: 'token' | 'accountQuery' | 'fee' | 'queryResult';
  fault: FaultInput;
  atMs: number;
  lastsMs: number;
}

export interface Plan {
  seed: number;
  workers: number;
  payouts: PlannedPayout[];
  batches: PlannedBatch[];
  openings: PlannedOpening[];
  strangers: PlannedStranger[];
  /** Histories of paid payouts are deleted. */
  deletion: PlannedDeletion | undefined;
  /** Users for whom the application acts, if the provider requires user tokens. */
  users: PlannedUsers | undefined;
  /** Endpoints that get events. */
  events: PlannedEvents | undefined;
  /** No faults and no interventions. */
  isFaultFree: boolean;
  /** When an operator pauses the application. */
  pause: PlannedPause | undefined;
  /** When an operator sets a policy that requires approvals. */
  policy: PlannedPolicy | undefined;
  /** When the provider changes its fees, and what people do about it. */
  prices: PlannedPrices | undefined;
  /** What the spec leaves open about the provider. Undefined: as the spec's examples show it. */
  dialect: PlannedDialect | undefined;
  /** When the keys are replaced. */
  rotation: PlannedRotation | undefined;
  /** When the processes change to the newest code. */
  upgrade: PlannedUpgrade | undefined;
  faults: FaultRuleInput[];
  settings: SettingsChange;
  env: Environment;
  workflowTaskFaults: WorkflowTaskFaults;
  processFaults: ProcessFault[];
  /** Of requests to Temporal. */
  losses: Losses;
  /** The provider does not answer one operation for a long time. */
  operationOutage: PlannedOperationOutage | undefined;
  /** The largest delay of Temporal's visibility lists. */
  visibilityLagMs: number;
  /** Temporal is unreachable for all clients. */
  temporalOutage: { atMs: number; lastsMs: number } | undefined;
  /** When faults and losses end, so that every workflow can end. */
  faultPhaseMs: number;
  /** How often calls to the provider fail on the network. */
  network: number;
  /** The probability that a call connects slowly while its process is cut off from Temporal. */
  slowConnects: number;
  resolutionWithoutOrder: 'retry' | 'end';
  /**
   * Temporal is restored to its state at `toMs`. With `forgets`, that state lacks a payout that may have been sent.
   */
  restored: { toMs: number; atMs: number; forgets: boolean } | undefined;
  /** The restore is a failover: processes continue, and an operator notices it only later. */
  failover: { noticedAfterMs: number } | undefined;
  /** The world continues until every order has a follow-up. */
  awaitsFollowUps: boolean;
  /** When the provider revokes all tokens. */
  tokensExpireAtMs: number | undefined;
}
