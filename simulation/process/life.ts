/**
 * A process that can be killed, frozen and revived, or cut off from Temporal or from the provider, between any two
 * events; and one life of it, from a start to a death. All that happens in a process happens in one of its lives.
 */
import type { Clock, Random } from '../../src/surroundings/surroundings.ts';
import { inContext, type World } from '../world/world.ts';

export type Program = (life: Life) => void;

/** Nothing comes after the death of a process. */
export function never(): Promise<never> {
  return new Promise(() => undefined);
}

export class Process {
  readonly name: string;
  readonly world: World;
  /** Its wall clock is ahead by so much. */
  wallAheadMs = 0;
  private readonly program: Program;
  private current: Life | undefined;
  private frozenSince: number | undefined;
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
    this.current = new Life(this);
    this.program(this.current);
  }

  /** Everything that it does stops for good, in the middle. */
  kill(): void {
    const { current } = this;
    this.current = undefined;
    current?.end();
  }

  /** Asked to end in good order. It is gone once it has, or when somebody loses patience and kills it. */
  stop(): void {
    this.current?.askToEnd?.();
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

  /** From Temporal: its activities go on, and report when they can. */
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
  readonly world: World;
  readonly random: Random;
  isOver = false;
  /** What the program does when it is asked to end; it kills its process at last. */
  askToEnd: (() => void) | undefined;
  /** Told when it is over: what it held is to be let go. */
  readonly onEnd: (() => void)[] = [];
  /** Told when it may go on, or be reached again. */
  readonly onChange: (() => void)[] = [];
  private readonly bornAt: number;
  private waiting: (() => void)[] = [];

  constructor(process: Process) {
    this.process = process;
    this.world = process.world;
    this.bornAt = process.world.now;
    this.random = process.world.randomness();
  }

  get name(): string {
    return this.process.name;
  }

  end(): void {
    this.isOver = true;
    this.waiting = [];
    for (const tell of this.onEnd) tell();
  }

  changed(): void {
    const { waiting } = this;
    this.waiting = [];
    for (const resume of waiting) resume();
    for (const tell of this.onChange) tell();
  }

  // ---- its clock

  nowMs(): number {
    return this.world.now - this.bornAt;
  }

  wallMs(): number {
    return this.world.now + this.process.wallAheadMs;
  }

  /** What is due while it is frozen comes when it is revived. */
  after(ms: number, run: () => void): () => void {
    const bound = inContext(run);
    let calledOff = false;
    const planned = this.world.at(ms, () => this.whenAwake(() => calledOff || bound()));
    return () => {
      calledOff = true;
      planned.cancelled = true;
    };
  }

  private whenAwake(act: () => void): void {
    if (this.isOver) return;
    if (this.process.isFrozen) this.waiting.push(() => this.whenAwake(act));
    else act();
  }

  async sleep(ms: number): Promise<void> {
    await this.world.sleep(ms);
    await this.awake();
  }

  // ---- what reaches it, and what it reaches

  /** Resolves while it is awake; never after its death. */
  async awake(): Promise<void> {
    while (this.process.isFrozen && !this.isOver) await this.change();
    if (this.isOver) await never();
  }

  /** Resolves when a request of this process can be on its way to Temporal. */
  async connected(): Promise<void> {
    while ((this.process.isFrozen || this.process.cutOff) && !this.isOver) await this.change();
    if (this.isOver) await never();
  }

  /** A request on its way to Temporal: it is sent again until it gets through. */
  async reach(): Promise<void> {
    await this.sleep(this.world.random.between(1, 5));
    await this.connected();
  }

  /** A long poll of it may still be open at the server: a process that is frozen goes on holding its connections. */
  get receives(): boolean {
    return !this.isOver && !this.process.cutOff && this.process.frozenForMs < LONG_POLL_MS;
  }

  private change(): Promise<void> {
    return new Promise((resolve) => {
      this.waiting.push(resolve);
    });
  }
}

const LONG_POLL_MS = 60_000;
