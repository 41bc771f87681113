/** What the worlds of a campaign reached: hazards, faults, and pairs of faults in the same world. */
import { HAZARDS } from './hazards.ts';

const EXAMPLES = 12;

export class Tally {
  private readonly hazards = new Map(Object.keys(HAZARDS).map((id) => [id, 0]));
  private readonly faults = new Map<string, number>();
  private readonly pairs = new Map<string, number>();

  add({ faults, hazards }: { faults: readonly string[]; hazards: readonly string[] }): void {
    for (const hazard of hazards) count(this.hazards, hazard);
    const sorted = faults.toSorted();
    for (const [at, fault] of sorted.entries()) {
      count(this.faults, fault);
      for (const other of sorted.slice(at + 1)) count(this.pairs, `${fault} + ${other}`);
    }
  }

  /** Counts are numbers of worlds, lowest first. */
  summaryLines(): string[] {
    const rare = [...this.hazards].toSorted(([, one], [, other]) => one - other);
    const never = rare.filter(([, count]) => count === 0).map(([hazard]) => hazard);
    const all = (this.faults.size * (this.faults.size - 1)) / 2;
    const single = [...this.faults].toSorted(([, one], [, other]) => one - other).slice(0, EXAMPLES);
    return [
      `hazards, with the number of worlds that reached them: ${rare.map(formatCount).join(', ')}`,
      ...(never.length > 0 ? [`hazards that no world reached: ${never.join(', ')}`] : []),
      `${this.faults.size} faults; the rarest: ${single.map(formatCount).join(', ')}`,
      `${this.pairs.size} of ${all} pairs of faults occurred in one world`,
    ];
  }
}

function count(into: Map<string, number>, name: string): void {
  into.set(name, (into.get(name) ?? 0) + 1);
}

function formatCount([name, count]: readonly [string, number]): string {
  return `${name} ${count}`;
}
