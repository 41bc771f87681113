/** The product's worker process, assembled as in `src/workers/main.ts`, in one lifetime of a simulated process. */
import type { InProcessSimulator } from '../../simulator/index.ts';
import type { WorkerConfig } from '../../src/config/config.ts';
import type { SharedSettings } from '../../src/contract/rate-limit.ts';
import { clientConverter } from '../../src/encryption/payload-codec.ts';
import type { EventTransport } from '../../src/webhooks/event-transport.ts';
import { keepDeliveries, keepSchedules } from '../../src/workers/kept-workflows.ts';
import { keepRenewals } from '../../src/workers/tokens/token-renewals.ts';
import { createWorkers, runWorkers, shutDownInOrder } from '../../src/workers/worker.ts';
import type { Life, Process, Program } from '../process/life.ts';
import { SimulatedTransport, type Trip } from '../provider/transport.ts';
import type { Workflows } from '../sdk.ts';
import type { Service } from '../temporal/rpc.ts';
import type { Temporal } from '../temporal/temporal.ts';
import { SimulatedWorker } from '../temporal/worker.ts';
import type { WorkflowTaskFaults } from '../temporal/workflow-tasks.ts';
import { withFirstSettings } from './first-settings.ts';
import { remembering } from './remembering-codec.ts';

/** What cannot be done yet is done later, and no check reads it. */
const NO_LOG = { warn: () => undefined, error: () => undefined };

export interface WorkerProcessParts {
  server: Temporal;
  service: Service;
  provider: Pick<InProcessSimulator, 'request'>;
  /** Read at each start, as `config` is. */
  workflows: () => Workflows;
  config: () => WorkerConfig;
  trip: (process: Process) => Trip;
  /** Called with the name of the process that writes a request to the provider. */
  written?: ((process: string) => void) | undefined;
  faults?: WorkflowTaskFaults | undefined;
  eventTransport: (life: Life) => EventTransport | undefined;
  /** Resolves when processes may start. */
  ready?: (() => Promise<void>) | undefined;
  /** Of an application without a lease. Undefined: none. */
  firstSettings: () => SharedSettings | undefined;
  /** The Schedules are missing, so nothing reconciles by itself, and a delivery starts with its first event. */
  withoutSchedules?: boolean | undefined;
}

export function workerProgram(parts: WorkerProcessParts): Program {
  return (life) => life.world.spawn(run(parts, life));
}

async function run(parts: WorkerProcessParts, life: Life): Promise<void> {
  await parts.ready?.();
  if (life.hasEnded) return;
  const { server, service, faults, provider, trip, written } = parts;
  const [config, workflows] = [parts.config(), parts.workflows()];
  const runtime = { clock: life, random: life.random };
  const { payloads } = config.keys;
  const eventTransport = parts.eventTransport(life);
  const client = service.clientOf(life, {
    dataConverter: remembering(clientConverter(payloads, life.random), payloads),
    interceptors: withFirstSettings(service.interceptors(life), parts.firstSettings),
  });
  const network = {
    ...{ provider, world: life.world, trip: () => trip(life.process), written: () => written?.(life.name) },
    isCutOff: () => life.process.cutOffFromProvider,
  };
  const workers = await createWorkers({
    ...{ config, client, runtime },
    createWorker: async ({ dataConverter: converter = {}, ...options }) =>
      new SimulatedWorker(
        { server, life, workflows, faults },
        { ...options, dataConverter: remembering(converter, payloads) },
      ),
    workflowBundle: { codePath: 'loaded before' },
    transport: (options) => new SimulatedTransport(options, network),
    ...(eventTransport && { eventTransport }),
  });
  const running = runWorkers(workers);
  life.world.spawn(running);
  life.requestShutdown = () => life.world.spawn(shutDownInOrder(workers, life));
  keepRenewals(client, config, runtime, NO_LOG);
  if (!parts.withoutSchedules) {
    keepSchedules(client, config, life, NO_LOG);
    keepDeliveries(client, config, life, NO_LOG);
  }
  await running;
  if (!life.hasEnded) life.process.kill();
}
