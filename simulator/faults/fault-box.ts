/** The rules in force: decides which fault hits a request, by order, count and seed, never by chance. */
import type { Fault, FaultRule } from './rules.ts';

interface ActiveRule {
  id: string;
  rule: FaultRule;
  random: () => number;
  matched: number;
  hit: number;
  held: Set<() => void>;
}

export interface FaultReport {
  id: string;
  operation: string;
  partnerOrderId: string | null;
  kinds: string[];
  /** Requests that the rule applied to, those it hit, those it holds now. */
  matched: number;
  hit: number;
  held: number;
}

/** A fault that hits one request; `held` waits until the rule is released. */
export interface Strike {
  fault: Fault;
  ruleId: string;
  held: () => Promise<void>;
}

export class FaultBox {
  readonly #rules = new Map<string, ActiveRule>();
  #nextId = 1;

  /** The same id again replaces the rule. */
  add(rule: FaultRule): string {
    const id = rule.id ?? `fault-${this.#nextId++}`;
    this.release(id);
    this.#rules.set(id, {
      id,
      rule,
      random: seededRandom(rule.seed),
      matched: 0,
      hit: 0,
      held: new Set(),
    });
    return id;
  }

  strike(operation: string, partnerOrderId: string | null): Strike | undefined {
    for (const active of this.#rules.values()) {
      const fault = applies(active.rule, operation, partnerOrderId) ? hits(active) : undefined;
      if (fault) return { fault, ruleId: active.id, held: () => heldBy(active) };
    }
    return undefined;
  }

  /** Lets go what the rule holds now and answers how many that were; undefined for an unknown rule. */
  release(id: string): number | undefined {
    const active = this.#rules.get(id);
    if (!active) return undefined;
    const waiting = [...active.held];
    active.held.clear();
    for (const letGo of waiting) letGo();
    return waiting.length;
  }

  remove(id: string): boolean {
    this.release(id);
    return this.#rules.delete(id);
  }

  clear(): void {
    for (const id of [...this.#rules.keys()]) this.remove(id);
  }

  report(): FaultReport[] {
    return [...this.#rules.values()].map(({ id, rule, matched, hit, held }) => ({
      id,
      operation: rule.operation,
      partnerOrderId: rule.partnerOrderId ?? null,
      kinds: choicesOf(rule).map((fault) => fault.kind),
      matched,
      hit,
      held: held.size,
    }));
  }
}

function applies(rule: FaultRule, operation: string, partnerOrderId: string | null): boolean {
  if (rule.operation !== 'any' && rule.operation !== operation) return false;
  return rule.partnerOrderId === undefined || rule.partnerOrderId === partnerOrderId;
}

function hits(active: ActiveRule): Fault | undefined {
  const { rule } = active;
  if (rule.times !== undefined && active.hit >= rule.times) return undefined;
  active.matched += 1;
  if (active.matched <= rule.skip) return undefined;
  // Both numbers are drawn every time, so that a seed always means the same sequence.
  const [chance, choice] = [active.random(), active.random()];
  if (chance >= rule.probability) return undefined;
  active.hit += 1;
  const choices = choicesOf(rule);
  return choices[Math.floor(choice * choices.length)];
}

function choicesOf(rule: FaultRule): Fault[] {
  return rule.kinds ?? (rule.fault ? [rule.fault] : []);
}

function heldBy(active: ActiveRule): Promise<void> {
  return new Promise((resolve) => {
    active.held.add(resolve);
  });
}

/** Mulberry32: small, and the same on every machine. */
function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
