/** Gives an edge its inputs, one after the other, and keeps the figures. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { type Edge, type Judge, kindOf, type Verdict, Violation } from './edge.ts';
import { inputOf } from './inputs/seeded.ts';

export interface Found {
  seed: number;
  what: string;
  /** The smallest input that still shows it. */
  smallest: string;
}

export interface Report {
  edge: string;
  inputs: number;
  accepted: number;
  refused: number;
  /** In milliseconds of CPU time. */
  slowest: { ms: number; seed: number };
  heapBefore: number;
  heapAfter: number;
  seconds: number;
  found: Found[];
}

export interface Order {
  from: number;
  inputs: number;
}

export interface RunOptions {
  /** Told before the input of `seed`; `isSmaller`: before one that was made of it. */
  onInput?: (seed: number, isSmaller: boolean) => void;
  /** How much the heap may grow from the end of the warm-up on, in bytes. */
  mostGrowth?: number;
}

/** Far beyond what any input takes on a busy machine. */
const HANG_MS = 5_000;
const MOST_GROWTH = 32 * 1024 * 1024;
/** Until then, caches and whatever is bounded may fill up. */
const WARM_UP = 0.25;
const MOST_KINDS = 10;
const MOST_SMALLER = 500;

export async function runEdge<I>(edge: Edge<I>, order: Order, options: RunOptions = {}): Promise<Report> {
  const judge = await edge.open();
  const faults = new Faults();
  try {
    return await new EdgeRun(edge, judge, faults).run(order, options);
  } finally {
    faults.close();
    await judge.close();
  }
}

class EdgeRun<I> {
  private readonly edge: Edge<I>;
  private readonly judge: Judge<I>;
  private readonly faults: Faults;
  private readonly found = new Map<string, Found>();
  private readonly verdicts: Record<Verdict, number> = { accepted: 0, refused: 0 };
  private slowest = { ms: 0, seed: 0 };
  private onInput: NonNullable<RunOptions['onInput']> = () => undefined;

  constructor(edge: Edge<I>, judge: Judge<I>, faults: Faults) {
    this.edge = edge;
    this.judge = judge;
    this.faults = faults;
  }

  async run({ from, inputs }: Order, { onInput, mostGrowth = MOST_GROWTH }: RunOptions): Promise<Report> {
    this.onInput = onInput ?? this.onInput;
    const begunMs = performance.now();
    const warm = from + Math.floor(inputs * WARM_UP);
    let heapBefore = 0;
    for (let seed = from; seed < from + inputs && this.found.size < MOST_KINDS; seed += 1) {
      if (seed === warm) heapBefore = await this.heap();
      // Lets timers and messages through, which an edge without a socket would not.
      if (seed % 256 === 0) await new Promise((resolve) => setImmediate(resolve));
      this.onInput(seed, false);
      await this.one(seed);
    }
    const heapAfter = await this.heap();
    if (heapBefore > 0 && heapAfter - heapBefore > mostGrowth)
      this.keep(
        from,
        `the heap grew from ${mebibytes(heapBefore)} to ${mebibytes(heapAfter)} MiB`,
        'all of them',
      );
    const seconds = (performance.now() - begunMs) / 1_000;
    const { slowest } = this;
    return {
      ...{ edge: this.edge.name, inputs, ...this.verdicts, slowest, heapBefore, heapAfter, seconds },
      found: [...this.found.values()],
    };
  }

  private async one(seed: number): Promise<void> {
    const input = inputOf(this.edge.inputs, seed);
    const before = process.cpuUsage();
    const fault = await this.faultOf(input.value);
    const { user, system } = process.cpuUsage(before);
    const ms = (user + system) / 1_000;
    if (ms > this.slowest.ms) this.slowest = { ms, seed };
    if (ms > HANG_MS) this.keep(seed, `took ${Math.round(ms)} ms of CPU time`, this.edge.show(input.value));
    if (fault === undefined || this.found.has(kindOf(fault))) return;
    const smallest = await this.smallest(seed, kindOf(fault));
    this.keep(seed, smallest.what, this.edge.show(smallest.input), kindOf(fault));
  }

  /** Undefined where the product did nothing that it must not do. */
  private async faultOf(input: I): Promise<string | undefined> {
    let fault: string | undefined;
    try {
      this.verdicts[await this.judge.judge(input)] += 1;
    } catch (error) {
      fault = error instanceof Violation ? error.message : `it threw ${told(error)}`;
    }
    return this.faults.take() ?? fault;
  }

  /** The first smaller input that shows the same, and so on from that one, until none does. */
  private async smallest(seed: number, kind: string): Promise<{ input: I; what: string }> {
    const verdicts = { ...this.verdicts };
    let current = inputOf(this.edge.inputs, seed);
    let what = (await this.faultOf(current.value)) ?? `${kind} (the same input again did not show it)`;
    let left = MOST_SMALLER;
    for (let shrinks = true; shrinks && left > 0; ) {
      shrinks = false;
      for (const smaller of this.edge.inputs.shrink(current.value_, current.context)) {
        left -= 1;
        this.onInput(seed, true);
        const fault = await this.faultOf(smaller.value);
        shrinks = fault !== undefined && kindOf(fault) === kind;
        if (shrinks && fault !== undefined) [current, what] = [smaller, fault];
        if (shrinks || left <= 0) break;
      }
    }
    Object.assign(this.verdicts, verdicts);
    return { input: current.value, what };
  }

  private keep(seed: number, what: string, smallest: string, kind = kindOf(what)): void {
    if (!this.found.has(kind)) this.found.set(kind, { seed, what, smallest });
  }

  /** What is held once everything that can be freed is freed, in bytes. */
  private async heap(): Promise<number> {
    await this.judge.settle();
    // Twice, for what a finalizer frees is freed by the second.
    for (let times = 0; times < 2; times += 1) {
      collectGarbage();
      await new Promise((resolve) => setImmediate(resolve));
    }
    const { heapUsed, external } = process.memoryUsage();
    return heapUsed + external;
  }
}

/** What ends a process, and belongs to whichever input is under way. */
class Faults {
  private thrown: string | undefined;
  private readonly onError = (error: unknown) => {
    this.thrown ??= `nobody caught ${told(error)}`;
  };

  constructor() {
    process.on('uncaughtException', this.onError);
    process.on('unhandledRejection', this.onError);
  }

  take(): string | undefined {
    const { thrown } = this;
    this.thrown = undefined;
    return thrown;
  }

  close(): void {
    process.off('uncaughtException', this.onError);
    process.off('unhandledRejection', this.onError);
  }
}

function told(error: unknown): string {
  if (!(error instanceof Error)) return `a ${typeof error}`;
  const [, where = ''] = /\n\s+at (.*)/.exec(error.stack ?? '') ?? [];
  return `${error.name}: ${error.message.slice(0, 200)} at ${where}`;
}

/** Without `--expose-gc` on the command line, so that it works in any process. */
const collectGarbage: () => void = (() => {
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('gc');
  return typeof collect === 'function' ? () => void Reflect.apply(collect, undefined, []) : () => undefined;
})();

export function mebibytes(bytes: number): string {
  return (bytes / 1024 / 1024).toFixed(1);
}
