/** Runs the inputs of an edge in sequence, and collects the figures. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { type Edge, type Judge, kindOf, type Verdict, Violation } from './edge.ts';
import { inputOf } from './inputs/seeded.ts';

export interface Found {
  seed: number;
  what: string;
  /** The smallest input that shows the violation. */
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
  /** Called before the input of `seed`; `isSmaller`: before a shrunk variant of it. */
  onInput?: (seed: number, isSmaller: boolean) => void;
  /** The allowed growth of the heap after the warm-up, in bytes. */
  maxGrowth?: number;
}

/** Far longer than any input takes on a busy machine. */
const HANG_MS = 5_000;
const MAX_GROWTH = 32 * 1024 * 1024;
/** The share of inputs in which caches and other bounded memory may fill. */
const WARM_UP = 0.25;
const MAX_KINDS = 10;
const MAX_SHRINKS = 500;

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

  async run({ from, inputs }: Order, { onInput, maxGrowth = MAX_GROWTH }: RunOptions): Promise<Report> {
    this.onInput = onInput ?? this.onInput;
    const begunMs = performance.now();
    const warm = from + Math.floor(inputs * WARM_UP);
    let heapBefore = 0;
    for (let seed = from; seed < from + inputs && this.found.size < MAX_KINDS; seed += 1) {
      if (seed === warm) heapBefore = await this.heap();
      // Lets timers and messages run, which an edge without a socket would block.
      if (seed % 256 === 0) await new Promise((resolve) => setImmediate(resolve));
      this.onInput(seed, false);
      await this.one(seed);
    }
    const heapAfter = await this.heap();
    if (heapBefore > 0 && heapAfter - heapBefore > maxGrowth)
      this.keep(
        from,
        `the heap grew from ${mebibytes(heapBefore)} to ${mebibytes(heapAfter)} MiB`,
        'all inputs',
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

  /** Undefined without a violation. */
  private async faultOf(input: I): Promise<string | undefined> {
    let fault: string | undefined;
    try {
      this.verdicts[await this.judge.judge(input)] += 1;
    } catch (error) {
      fault = error instanceof Violation ? error.message : `it threw ${described(error)}`;
    }
    return this.faults.take() ?? fault;
  }

  /** Shrinks the input as long as a smaller one shows the same violation. */
  private async smallest(seed: number, kind: string): Promise<{ input: I; what: string }> {
    const verdicts = { ...this.verdicts };
    let current = inputOf(this.edge.inputs, seed);
    let what = (await this.faultOf(current.value)) ?? `${kind} (the same input again did not show it)`;
    let left = MAX_SHRINKS;
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

  /** The memory in use after garbage collection, in bytes. */
  private async heap(): Promise<number> {
    await this.judge.settle();
    // Twice, because the second collection frees what finalizers release.
    for (let times = 0; times < 2; times += 1) {
      collectGarbage();
      await new Promise((resolve) => setImmediate(resolve));
    }
    const { heapUsed, external } = process.memoryUsage();
    return heapUsed + external;
  }
}

/** Catches errors that would end the process, and attributes them to the current input. */
class Faults {
  private thrown: string | undefined;
  private readonly onError = (error: unknown) => {
    this.thrown ??= `uncaught: ${described(error)}`;
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

function described(error: unknown): string {
  if (!(error instanceof Error)) return `a ${typeof error}`;
  const [, where = ''] = /\n\s+at (.*)/.exec(error.stack ?? '') ?? [];
  return `${error.name}: ${error.message.slice(0, 200)} at ${where}`;
}

/** Needs no `--expose-gc` on the command line, so it works in any process. */
const collectGarbage: () => void = (() => {
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('gc');
  return typeof collect === 'function' ? () => void Reflect.apply(collect, undefined, []) : () => undefined;
})();

export function mebibytes(bytes: number): string {
  return (bytes / 1024 / 1024).toFixed(1);
}
