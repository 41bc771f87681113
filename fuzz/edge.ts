/** An edge: a place where bytes from outside enter. */
import type fc from 'fast-check';

/** The result of an input that caused no violation. */
export type Verdict = 'accepted' | 'refused';

/** Thrown by a judge: the product did what it must never do. */
export class Violation extends Error {
  override readonly name = 'Violation';
}

export interface Judge<I> {
  /** Passes the input to the product and checks the result. Throws `Violation`; any other error is a crash. */
  judge(input: I): Promise<Verdict> | Verdict;
  /** Resolves once no earlier input is in progress. */
  settle(): Promise<void>;
  close(): Promise<void>;
}

export interface Edge<I> {
  name: string;
  inputs: fc.Arbitrary<I>;
  open(): Promise<Judge<I>>;
  /** A readable form of the input. */
  show(input: I): string;
}

/** Throws unless `holds`. */
export function demand(holds: boolean, what: string): asserts holds {
  if (!holds) throw new Violation(what);
}

/** The kind of a violation: its text without numbers and quotes. */
export function kindOf(what: string): string {
  return what
    .replaceAll(/"[^"]*"|'[^']*'/g, '…')
    .replaceAll(/\d+/g, 'N')
    .slice(0, 120);
}
