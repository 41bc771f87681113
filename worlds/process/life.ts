/**
 * A process that can be killed, frozen and resumed, or cut off from Temporal or from the provider, between any two
 * events; and one lifetime of it, from start to end. Everything in a process happens in one of its lifetimes.
 */
import type { Clock, Random } from '../../src/runtime/runtime.ts';
import { inContext, type World } from '../engine/world.ts';

export type Program = (life: Life) => void;

/** How long a poll without a task stays open. Then the process polls again. */
export const LONG_POLL_MS = 60_000;

/** Awaited by code of a process that has ended. */
export function never(): Promise<never> {
  return new Promise(() => undefined);
}

export class Process {
  readonly name: string;
  readonly world: World;
  /** The offset of its wall clock. */
  wallClockOffsetMs = 0;
  private readonly program: Program;
  private current: Life | undefined;
  private frozenSince: number | undefined;
  private lives = 0;
  private isCutOff = false;
  private isCutOffFromProvider = false;

  constructor(world: World, name: string, program: Program) {
    this.world = world;
    this.name = name;
    this.program = program;
  }

  get life(): Life | undefined {
    return this.current;
  }

  start(): void {
    if (this.current) return;
    this.lives += 1;
    this.current = new Life(this, this.lives === 1 ? this.name : `${this.name}-${this.lives}`);
    this.program(this.current);
  }

  /** Stops everything in the process immediately. */
  kill(): void {
    const { current } = this;
    this.current = undefined;
    current?.end();
  }

  /**
   * Requests a graceful shutdown. The process ends when the shutdown completes, or when it is killed: immediately if it has
   * not begun its work.
   */
  stop(): void {
    if (this.current?.requestShutdown) this.current.requestShutdown();
    else this.kill();
  }

  get isFrozen(): boolean {
    return this.frozenSince !== undefined;
  }

  get frozenForMs(): number {
    return this.frozenSince === undefined ? 0 : this.world.now - this.frozenSince;
  }

  set frozen(frozen: boolean) {
    if (frozen) this.frozenSince ??= this.world.now;
    else this.frozenSince = undefined;
    this.current?.changed();
  }

  get cutOff(): boolean {
    return this.isCutOff;
  }

  /** Cuts the process off from Temporal. Its activities continue, and report when the connection is back. */
  set cutOff(cut: boolean) {
    this.isCutOff = cut;
    this.current?.changed();
  }

  get cutOffFromProvider(): boolean {
    return this.isCutOffFromProvider;
  }

  set cutOffFromProvider(cut: boolean) {
    this.isCutOffFromProvider = cut;
    this.current?.changed();
  }
}

export class Life implements Clock {
  readonly process: Process;
  /** A process that starts again has another one, as with a process id. */
  readonly name: string;
  readonly world: World;
  readonly random: Random;
  endedAt: number | undefined;
  /** Shuts the program down gracefully. At the end, the program kills its process. */
  requestShutdown: (() => void) | undefined;
  /** Called when the lifetime ends, to release resources. */
  readonly onEnd: (() => void)[] = [];
  /** Called when the process is resumed or reachable again. */
  readonly onChange: (() => void)[] = [];
  private readonly startedAt: number;
  private waiting: (() => void)[] = [];

  constructor(process: Process, name: string) {
    this.process = process;
    this.name = name;
    this.world = process.world;
    this.startedAt = process.world.now;
    this.random = process.world.randomness();
  }

  get hasEnded(): boolean {
    return this.endedAt !== undefined;
  }

  end(): void {
    this.endedAt = this.world.now;
    this.waiting = [];
    for (const listener of this.onEnd) listener();
  }

  changed(): void {
    const { waiting } = this;
    this.waiting = [];
    for (const resume of waiting) resume();
    for (const listener of this.onChange) listener();
  }

  // ---- clock

  nowMs(): number {
    return this.world.now - this.startedAt;
  }

  wallMs(): number {
    return this.world.wallMs() + this.process.wallClockOffsetMs;
  }

  /** Timers that expire while the process is frozen run when it is resumed. */
  after(ms: number, run: () => void): () => void {
    const bound = inContext(run);
    let isCancelled = false;
    const planned = this.world.at(ms, () => this.whenAwake(() => isCancelled || bound()));
    return () => {
      isCancelled = true;
      planned.canceled = true;
    };
  }

  private whenAwake(callback: () => void): void {
    if (this.hasEnded) return;
    if (this.process.isFrozen) this.waiting.push(() => this.whenAwake(callback));
    else callback();
  }

  async sleep(ms: number): Promise<void> {
    await this.world.sleep(ms);
    await this.awake();
  }

  // ---- connections

  /** Resolves when the process is not frozen. Never resolves after its end. */
  async awake(): Promise<void> {
    while (this.process.isFrozen && !this.hasEnded) await this.change();
    if (this.hasEnded) await never();
  }

  /** Resolves when a request of this process can reach Temporal. */
  async connected(): Promise<void> {
    while ((this.process.isFrozen || this.process.cutOff) && !this.hasEnded) await this.change();
    if (this.hasEnded) await never();
  }

  /** The delay of a request to Temporal, which is repeated until it arrives. */
  async networkDelay(): Promise<void> {
    await this.sleep(this.world.random.between(1, 5));
    await this.connected();
  }

  /** Whether a long poll may still be open at the server: a frozen process keeps its connections. */
  get isReachable(): boolean {
    return !this.hasEnded && !this.process.cutOff && this.process.frozenForMs < LONG_POLL_MS;
  }

  private change(): Promise<void> {
    return new Promise((resolve) => {
      this.waiting.push(resolve);
    });
  }
}
