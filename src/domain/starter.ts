/** Who started a payout, as it is recorded: a caller, or a person whom a proxy signs in to the desk. */

interface Actor {
  name: string;
  /** Of a person: the caller whose permissions the person has. */
  actsFor?: string | undefined;
}

/** The names of callers and people contain no slash. */
const SEPARATOR = '/';

/** `finance`, or `finance/olga` for a person, so that the rules for the caller apply to its people. */
export function starterName({ name, actsFor }: Actor): string {
  return actsFor === undefined ? name : `${actsFor}${SEPARATOR}${name}`;
}

/** The caller, and the person if there is one. */
export function namesOf(startedBy: string): string[] {
  return startedBy.split(SEPARATOR);
}

/**
 * Whether the actor started it: itself, a person with the caller's key, or a caller's key in the hands of one of its people.
 * Two people of one caller are two.
 */
export function isStarter({ name, actsFor }: Actor, startedBy: string | undefined): boolean {
  if (startedBy === undefined) return false;
  if (actsFor !== undefined && sameName(startedBy, actsFor)) return true;
  return [startedBy, ...namesOf(startedBy)].some((one) => sameName(one, name));
}

function sameName(one: string, other: string): boolean {
  return one.trim().toLowerCase() === other.trim().toLowerCase();
}
