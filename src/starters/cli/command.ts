/** What commands share: options, the parsers of their values, and how a command runs. Loads neither Temporal's client nor schemas. */
import {
  Argument,
  Command,
  type CommandUnknownOpts,
  InvalidArgumentError,
  Option,
} from '@commander-js/extra-typings';
import { APP_NAME, OWN_ID, OWN_ID_RULE } from '../../contract/ids.ts';
import { MAX_REASON_LENGTH } from '../../domain/rate-limit.ts';
import { dayBounds } from '../../domain/reconciliation.ts';
import { UsageError } from './output.ts';
import type { Change, OnConnectionFailure, Work } from './session.ts';

/** Adds a command with `--app` to the program, or below another command. */
export function command(parent: CommandUnknownOpts, name: string, description: string) {
  return parent.command(name).description(description).addOption(APP);
}

/** Adds a command whose file may name the application. */
export function fileCommand(parent: CommandUnknownOpts, name: string, description: string) {
  return parent.command(name).description(description).argument('<file>').addOption(FILE_APP);
}

/** Adds a command that an operator signs, and confirms in production. */
export function decision(parent: CommandUnknownOpts, name: string, description: string) {
  return command(parent, name, description).addOption(YES).addOption(DECIDED_BY);
}

type Reader<Given extends unknown[]> = (...given: Given) => Work | Change | Promise<Work | Change>;

/**
 * The action of a command whose calls to Temporal take at most half a minute together. `read` validates the input, before
 * Temporal's client is loaded: that takes half a second.
 */
export function quick<Given extends unknown[]>(read: Reader<Given>) {
  return (...given: Given) => perform(given, read, { isQuick: true });
}

/** The action of a command that waits or makes many calls. `onConnectionFailure`: the output if there is no connection. */
export function long<Given extends unknown[]>(
  read: Reader<Given>,
  onConnectionFailure?: OnConnectionFailure,
) {
  return (...given: Given) => perform(given, read, { onConnectionFailure });
}

async function perform<Given extends unknown[]>(
  given: Given,
  read: Reader<Given>,
  options: { isQuick?: boolean; onConnectionFailure?: OnConnectionFailure | undefined },
): Promise<void> {
  const [json, yes] = [take(given, 'json'), take(given, 'yes')];
  const step = await read(...given);
  const { inSession } = await import('./session.ts');
  await inSession(yes && typeof step !== 'function' ? step.work : step, { json, ...options });
}

/** Takes a flag out of the options, which are passed on. The last argument of an action is its command. */
function take(given: readonly unknown[], flag: string): boolean {
  const last = given.at(-1);
  if (!(last instanceof Command)) return false;
  const isSet = flag in last.opts();
  Reflect.deleteProperty(last.opts(), flag);
  return isSet;
}

/** The parser of a value that matches `pattern`. `rule` begins with `must`. */
export function matching(pattern: RegExp, rule: string) {
  return (text: string): string => {
    if (pattern.test(text)) return text;
    throw invalid(rule);
  };
}

/** A `partnerOrderId`, a `requestId` or a `batchId`. */
export const ownId = matching(OWN_ID, OWN_ID_RULE);

const appName = matching(APP_NAME, 'must be 1 to 32 lowercase letters, digits and hyphens');
const reason = matching(
  new RegExp(`^[^]{1,${MAX_REASON_LENGTH}}$`),
  `must have 1 to ${MAX_REASON_LENGTH} characters`,
);

export function countOf(least: number, most: number) {
  return (text: string): number => {
    const count = Number(text);
    if (/^\d+$/.test(text) && count >= least && count <= most) return count;
    throw invalid(`must be an integer from ${least} to ${most}`);
  };
}

const TIME = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d))?$/;

/** ISO 8601. A day starts at midnight (UTC). */
export function time(text: string): string {
  // `Date.parse` takes 31 February for 3 March.
  if (TIME.test(text) && dayBounds(text.slice(0, 10)) && !Number.isNaN(Date.parse(text)))
    return new Date(text).toISOString();
  throw invalid('must be a time such as 2026-01-31T12:00:00Z, or a day such as 2026-01-31');
}

export function invalid(rule: string): InvalidArgumentError {
  return new InvalidArgumentError(`It ${rule}.`);
}

/** The id of a payout, a batch, or a request for a receiving account. */
export const ID = new Argument('<id>').argParser(ownId);
export const JSON_OUTPUT = new Option('--json', 'print one JSON document');
export const APP = new Option('--app <name>', 'the application').argParser(appName).default('default');
const FILE_APP = new Option(
  '--app <name>',
  'the application of requests that name none (default: "default")',
).argParser(appName);
/** A filter without a default. */
export const ANY_APP = new Option('--app <name>', 'only this application').argParser(appName);
export const YES = new Option('--yes', 'do not ask before a change in production');
const DECIDED_BY = new Option('--by <name>', 'who decides').makeOptionMandatory();
export const STARTED_BY = new Option('--by <name>', 'who starts it; this name cannot approve it');
export const REASON = new Option('--reason <text>', 'the reason').argParser(reason);
export const LIMIT = new Option('--limit <count>', 'the maximum number of rows')
  .argParser(countOf(1, 1_000_000))
  .default(50);
export const OPEN_ID = new Option('--open-id <id>', 'the user, if user tokens are used');

/** Adds `resolve`. `exists` describes `--created`. */
export function resolving(parent: CommandUnknownOpts, description: string, exists: string) {
  return decision(parent, 'resolve', description)
    .addArgument(ID)
    .option('--created <id>', exists)
    .addOption(NOT_CREATED)
    .addOption(SENDS);
}

const NOT_CREATED = new Option('--not-created <then>', 'it does not exist: end, or retry')
  .choices(['end', 'retry'])
  .conflicts('created');
const SENDS = new Option('--sends <count>', 'the sends that you have seen: does not apply after another send')
  .argParser(countOf(0, 999_999_999))
  .conflicts('created');

export interface ResolutionOptions {
  created?: string | undefined;
  notCreated?: 'end' | 'retry' | undefined;
  sends?: number | undefined;
}

/** The decision of `resolve`. Its id is one of `idName`. */
export function resolutionOf({ created, notCreated, sends }: ResolutionOptions, idName: string) {
  if (created !== undefined) return { created: true, id: created } as const;
  if (notCreated === undefined)
    throw new UsageError(`give either --created ${idName} or --not-created end|retry`);
  return { created: false, then: notCreated, ...(sends !== undefined && { sends }) } as const;
}

/** For an option that is given once for each value. */
export const repeatable = (value: string, others: string[] = []) => [...others, value];
