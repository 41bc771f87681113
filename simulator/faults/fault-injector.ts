/** Decides by the active rules which fault hits a request: by order, count and seed, so that runs are repeatable. */
import { type Random, seededRandom, seedOf } from '../random.ts';
import type { Fault, FaultRule } from './rules.ts';

interface ActiveRule {
  id: string;
  rule: FaultRule;
  random: Random;
  /** Requests that were hit, by operation and order. */
  hitsOf: Map<string, number>;
  matched: number;
  hit: number;
  held: Set<() => void>;
}

export interface FaultReport {
  id: string;
  operation: string;
  partnerOrderId: string | null;
  kinds: string[];
  /** Counts of requests to which the rule applied, that it hit, and that it holds now. */
  matched: number;
  hit: number;
  held: number;
}

/** A fault that hits one request; `held` waits until the rule is released. */
export interface InjectedFault {
  fault: Fault;
  ruleId: string;
  /** Draws the same numbers for the same seed, operation, order and count, independent of other requests. */
  random: Random;
  held: () => Promise<void>;
}

export class FaultInjector {
  readonly #rules = new Map<string, ActiveRule>();
  #nextId = 1;

  /** Replaces an earlier rule with the same id. */
  add(rule: FaultRule): string {
    const id = rule.id ?? `fault-${this.#nextId++}`;
    this.release(id);
    this.#rules.set(id, {
      id,
      rule,
      random: seededRandom(rule.seed),
      hitsOf: new Map(),
      matched: 0,
      hit: 0,
      held: new Set(),
    });
    return id;
  }

  faultFor(operation: string, partnerOrderId: string | null): InjectedFault | undefined {
    for (const active of this.#rules.values()) {
      const fault = applies(active.rule, operation, partnerOrderId) ? nextFault(active) : undefined;
      if (!fault) continue;
      const random = randomFor(active, `${operation} ${partnerOrderId ?? ''}`);
      return { fault, ruleId: active.id, random, held: () => untilReleased(active) };
    }
    return undefined;
  }

  /** Releases the requests that the rule holds and returns their number; undefined for an unknown rule. */
  release(id: string): number | undefined {
    const active = this.#rules.get(id);
    if (!active) return undefined;
    const waiting = [...active.held];
    active.held.clear();
    for (const resume of waiting) resume();
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

function nextFault(active: ActiveRule): Fault | undefined {
  const { rule } = active;
  if (rule.times !== undefined && active.hit >= rule.times) return undefined;
  active.matched += 1;
  if (active.matched <= rule.skip) return undefined;
  // Always draws both numbers, so that the sequence depends only on the seed.
  const [chance, choice] = [active.random(), active.random()];
  if (chance >= rule.probability) return undefined;
  active.hit += 1;
  const choices = choicesOf(rule);
  return choices[Math.floor(choice * choices.length)];
}

function randomFor(active: ActiveRule, target: string): Random {
  const count = active.hitsOf.get(target) ?? 0;
  active.hitsOf.set(target, count + 1);
  return seededRandom(seedOf(`${active.rule.seed} ${target} ${count}`));
}

function choicesOf(rule: FaultRule): Fault[] {
  return rule.kinds ?? (rule.fault ? [rule.fault] : []);
}

function untilReleased(active: ActiveRule): Promise<void> {
  return new Promise((resolve) => {
    active.held.add(resolve);
  });
}
