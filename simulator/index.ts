/** The simulated provider, for tests and tools. */
export {
  type AnswerContext,
  type RandomAnswer,
  randomAnswer,
  randomRecord,
} from './answers/random-answer.ts';
export type { Decision } from './authorization.ts';
export type { Counts, LedgerOf, LedgerRecord, OrderRecord } from './control/answers.ts';
export type { SimulatorControl } from './control/control.ts';
export type {
  AccountsInput,
  CallFilter,
  NotifyInput,
  OrderChange,
  PlantedOrderInput,
} from './control/requests.ts';
export { type SimulatorControlClient, simulatorControl } from './control-client.ts';
export type { FaultReport } from './faults/fault-injector.ts';
export type { FaultInput, FaultKind, FaultRuleInput, OperationName } from './faults/rules.ts';
export {
  type InProcessAnswer,
  type InProcessOptions,
  type InProcessRequest,
  type InProcessSimulator,
  simulatorInProcess,
} from './in-process.ts';
export type { CallRecord, CreateRecord } from './ledger.ts';
export type { NotificationRequest } from './notifications/transport.ts';
export { type NotifyMode, SCENARIOS, type ScenarioName } from './orders/scenario.ts';
export type { App, Settings, SettingsChange } from './settings.ts';
export { type Simulator, type SimulatorOptions, startSimulator } from './start.ts';
