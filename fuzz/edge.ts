/** An edge: where bytes that others wrote come in. */
import type fc from 'fast-check';

/** What an edge did with an input that it survived. */
export type Verdict = 'accepted' | 'refused';

/** Thrown by a judge: what the product must never do. */
export class Violation extends Error {
  override readonly name = 'Violation';
}

export interface Judge<I> {
  /** Gives the input to the product and looks at what comes back. Throws `Violation`; whatever else it throws is a crash. */
  judge(input: I): Promise<Verdict> | Verdict;
  /** Resolves once nothing of the inputs before is under way. */
  settle(): Promise<void>;
  close(): Promise<void>;
}

export interface Edge<I> {
  name: string;
  inputs: fc.Arbitrary<I>;
  open(): Promise<Judge<I>>;
  /** For a person. */
  show(input: I): string;
}

/** Throws unless `holds`. */
export function demand(holds: boolean, what: string): asserts holds {
  if (!holds) throw new Violation(what);
}

/** What is the same however often it happens: a violation without its numbers and quotes. */
export function kindOf(what: string): string {
  return what
    .replaceAll(/"[^"]*"|'[^']*'/g, '…')
    .replaceAll(/\d+/g, 'N')
    .slice(0, 120);
}
