/** The rules in force: decides which fault hits a request, by order, count and seed, never by chance. */
import { type Random, seededRandom, seedOf } from '../random.ts';
import type { Fault, FaultRule } from './rules.ts';

interface ActiveRule {
  id: string;
  rule: FaultRule;
  random: Random;
  /** Requests of each operation about each order that were hit. */
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
  /** Requests that the rule applied to, those it hit, those it holds now. */
  matched: number;
  hit: number;
  held: number;
}

/** A fault that hits one request; `held` waits until the rule is released. */
export interface Strike {
  fault: Fault;
  ruleId: string;
  /** The same draws for the same seed, operation, order and count, whatever else is asked meanwhile. */
  random: Random;
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
      hitsOf: new Map(),
      matched: 0,
      hit: 0,
      held: new Set(),
    });
    return id;
  }

  strike(operation: string, partnerOrderId: string | null): Strike | undefined {
    for (const active of this.#rules.values()) {
      const fault = applies(active.rule, operation, partnerOrderId) ? hits(active) : undefined;
      if (!fault) continue;
      const random = drawsFor(active, `${operation} ${partnerOrderId ?? ''}`);
      return { fault, ruleId: active.id, random, held: () => heldBy(active) };
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

function drawsFor(active: ActiveRule, what: string): Random {
  const count = active.hitsOf.get(what) ?? 0;
  active.hitsOf.set(what, count + 1);
  return seededRandom(seedOf(`${active.rule.seed} ${what} ${count}`));
}

function choicesOf(rule: FaultRule): Fault[] {
  return rule.kinds ?? (rule.fault ? [rule.fault] : []);
}

function heldBy(active: ActiveRule): Promise<void> {
  return new Promise((resolve) => {
    active.held.add(resolve);
  });
}
