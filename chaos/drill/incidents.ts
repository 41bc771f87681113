/** Five incidents of the production topology, each with the alert that leads an operator to its cause. */
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { request } from 'undici';
import { z } from 'zod';
import { APP_ID } from '../../scripts/topology/processes.ts';
import type { Topology } from '../../scripts/topology.ts';
import { simulatorControl } from '../../simulator/control/client.ts';

export interface Incident {
  name: string;
  /** What happened, as the operator should find it. */
  cause: string;
  /** The alert whose section in docs/alerts.md says what to do. */
  alert: string;
  /** Resolves once the incident has begun, with what ends it. */
  begin(topology: Topology): Promise<() => Promise<void>>;
}

const OTHER_PROGRAM_EVERY_MS = 60;

export const INCIDENTS: readonly Incident[] = [
  {
    name: 'shared-application',
    cause: 'another program calls the provider with the same app_id and uses up the rate limit',
    alert: 'PayoutsRateLimited',
    begin: async (topology) => {
      const other = new OtherProgram(topology);
      const running = other.run();
      return async () => {
        other.stop();
        await running;
      };
    },
  },
  {
    name: 'notification-secret',
    cause: 'the provider signs its notifications with a secret that the API servers do not know',
    alert: 'PayoutsNotificationsRefused',
    begin: async ({ simulatorUrl, places }) => {
      const simulator = simulatorControl(simulatorUrl);
      await simulator.changeSettings({ notificationSecret: newSecret() });
      return async () => {
        await simulator.changeSettings({ notificationSecret: places.notificationSecret });
      };
    },
  },
  {
    name: 'lost-answers',
    cause: 'the provider executes creates, and the connection ends before its answer arrives',
    alert: 'PayoutsUnknownOutcomes',
    begin: async ({ simulatorUrl }) => {
      const simulator = simulatorControl(simulatorUrl);
      const { id } = await simulator.addFault({
        ...{ operation: 'createCnyOrder', fault: { kind: 'drop-after' } },
      });
      return () => simulator.removeFault(id);
    },
  },
  {
    name: 'wrong-key',
    cause: 'one worker was started with an encryption key that no other process has',
    alert: 'PayoutsWorkflowTasksFail',
    begin: async (topology) => {
      const worker = topology.child('worker-3');
      await worker.stop();
      await worker.start({ PAYOUTS_ENCRYPTION_KEYS: `other:${randomBytes(32).toString('base64')}` });
      return async () => {
        await worker.stop();
        await worker.start();
      };
    },
  },
  {
    name: 'database-down',
    cause: "Temporal's database has ended",
    alert: 'PayoutsTemporalDown',
    begin: async ({ database }) => {
      await database.stop('SIGQUIT');
      return async () => {
        await database.start();
      };
    },
  },
];

function newSecret(): string {
  return randomBytes(32).toString('base64url');
}

const tokenSchema = z.object({ data: z.object({ access_token: z.string() }) });

/** Calls the provider as often as the rate limit allows to one program. */
class OtherProgram {
  private readonly topology: Topology;
  private isStopped = false;

  constructor(topology: Topology) {
    this.topology = topology;
  }

  stop(): void {
    this.isStopped = true;
  }

  async run(): Promise<void> {
    const { simulatorUrl, places } = this.topology;
    const query = new URLSearchParams({ app_id: APP_ID, app_secret: places.appSecret });
    const answer = await request(`${simulatorUrl}/v2/token/get?${query}`);
    const { access_token: token } = tokenSchema.parse(await answer.body.json()).data;
    while (!this.isStopped) {
      const { body } = await request(`${simulatorUrl}/v2/httpbin/get`, {
        headers: { authorization: `Bearer ${token}` },
      });
      await body.dump();
      await sleep(OTHER_PROGRAM_EVERY_MS);
    }
  }
}
