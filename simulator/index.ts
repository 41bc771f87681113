/** The simulated provider, for tests and tools. */
export {
  type AnswerContext,
  type RandomAnswer,
  randomAnswer,
  randomRecord,
} from './answers/random-answer.ts';
export type { Decision } from './authorization.ts';
export { type SimulatorControlClient, simulatorControl } from './control/client.ts';
export type { SimulatorControl } from './control/control.ts';
export type {
  AccountsInput,
  CallFilter,
  Counts,
  LedgerOf,
  LedgerRecord,
  NotifyInput,
  OrderChange,
  OrderRecord,
  PlantedOrderInput,
} from './control/schemas.ts';
export {
  type FaultInput,
  type FaultKind,
  type FaultReport,
  type FaultRuleInput,
  type OperationName,
  transportFaults,
} from './faults/rules.ts';
export {
  type InProcessAnswer,
  type InProcessOptions,
  type InProcessRequest,
  type InProcessSimulator,
  simulatorInProcess,
} from './in-process.ts';
export type { NotificationRequest } from './notifier.ts';
export { type NotifyMode, SCENARIOS, type ScenarioName } from './orders/scenario.ts';
export type { App, Settings, SettingsChange } from './settings.ts';
export { type Simulator, type SimulatorOptions, startSimulator } from './start.ts';
export type { CallRecord, CreateRecord } from './state/ledger.ts';
