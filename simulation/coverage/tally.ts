/** What the worlds of a campaign have reached: hazards, faults, and pairs of faults that came together. */
import { HAZARDS } from './hazards.ts';

const EXAMPLES = 12;
const SEPARATOR = ' + ';

export class Tally {
  private readonly hazards = counts(Object.keys(HAZARDS));
  private readonly faults = counts([]);
  private readonly pairs = counts([]);

  add({ faults, hazards }: { faults: readonly string[]; hazards: readonly string[] }): void {
    for (const hazard of hazards) this.hazards.set(hazard, (this.hazards.get(hazard) ?? 0) + 1);
    const sorted = faults.toSorted();
    for (const [at, fault] of sorted.entries()) {
      this.faults.set(fault, (this.faults.get(fault) ?? 0) + 1);
      for (const other of sorted.slice(at + 1)) {
        const pair = `${fault}${SEPARATOR}${other}`;
        this.pairs.set(pair, (this.pairs.get(pair) ?? 0) + 1);
      }
    }
  }

  /** In how many worlds; rare ones first. */
  inWords(): string[] {
    const rare = [...this.hazards].toSorted(([, one], [, other]) => one - other);
    const never = rare.filter(([, count]) => count === 0).map(([hazard]) => hazard);
    const all = (this.faults.size * (this.faults.size - 1)) / 2;
    const single = [...this.faults].toSorted(([, one], [, other]) => one - other).slice(0, EXAMPLES);
    return [
      `hazards, with the worlds that met them: ${rare.map(said).join(', ')}`,
      ...(never.length > 0 ? [`hazards that no world met: ${never.join(', ')}`] : []),
      `${this.faults.size} faults; the rarest: ${single.map(said).join(', ')}`,
      `${this.pairs.size} of ${all} pairs of faults met in one world`,
    ];
  }
}

function counts(names: readonly string[]): Map<string, number> {
  return new Map(names.map((name) => [name, 0]));
}

function said([name, count]: readonly [string, number]): string {
  return `${name} ${count}`;
}
