/** Whether every process of an application works with the shared settings that were set last. */
import { type ListedSettings, SharedSettingsOf } from '../../../client/shared-settings.ts';
import type { Session } from '../session.ts';
import { FAILED_OVER, MISSING } from '../settings-texts.ts';
import { type Check, checkOrUnknown, ok, problem, until } from './check.ts';

const CHECK = 'shared settings';
/** The lease may be moving to another worker. */
const HANDOVER_MS = 10_000;
const POLL_INTERVAL_MS = 500;

export async function checkSharedSettings(
  session: Pick<Session, 'client' | 'withDeadline'>,
  environment: string,
  app: string,
): Promise<Check> {
  const { client, withDeadline } = session;
  const known = new SharedSettingsOf(client, environment);
  const look = () => withDeadline(() => known.list());
  return checkOrUnknown(CHECK, 'payouts settings', async () => {
    const settled = async () => {
      const found = await look();
      const own = found.filter((one) => one.app === app);
      return own.length === 0 || own.some(isCurrent) || own.some(isUseless) ? found : undefined;
    };
    const found = (await until(settled, POLL_INTERVAL_MS, HANDOVER_MS)) ?? (await look());
    return verdictOf(
      found.filter((one) => one.app === app),
      found,
    );
  });
}

/** The lease owner works with what was set last. */
function isCurrent({ shared, inForce }: ListedSettings): boolean {
  return shared !== null && inForce === shared.version;
}

function isUseless({ shared, hasFailedOver }: ListedSettings): boolean {
  return !shared || hasFailedOver;
}

/** An earlier `app_id` of the application has its own lease, which no process may own. */
function verdictOf(own: readonly ListedSettings[], all: readonly ListedSettings[]): Check {
  const [missing] = own.filter(({ shared }) => !shared);
  if (missing || own.length === 0) return problem(CHECK, 'nobody has set them', MISSING);
  if (own.some(({ hasFailedOver }) => hasFailedOver))
    return problem(CHECK, 'the namespace has failed over since they were set', FAILED_OVER);
  const [current] = own.filter(isCurrent);
  const [stored] = own;
  if (!current)
    return problem(
      CHECK,
      `version ${stored?.shared?.version} is set, and the lease owner reports ${stored?.inForce ?? 'none'}`,
      "a worker of another version may own the lease: read the workers' logs",
    );
  const times = new Map(all.map(({ app, shared }) => [app, shared?.recoveredAt ?? 'never']));
  if (new Set(times.values()).size > 1) {
    const texts = [...times].map(([app, time]) => `${app}: ${time}`).join(', ');
    const advice =
      'a restore concerns every application: settings --recovered-at TIME --by NAME --reason TEXT';
    return problem(CHECK, `the applications differ in when Temporal recovered (${texts})`, advice);
  }
  const { version, by, at, recoveredAt } = current.shared ?? {};
  return ok(CHECK, `version ${version}, by ${by}, ${at}; Temporal recovered: ${recoveredAt ?? 'never'}`);
}
