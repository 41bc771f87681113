/**
 * The only file with unstable imports of the SDK: its workflow VM, its activity runner and the protocol of core. It
 * does not load the Rust core: the VM needs only a clock from it. `test/worlds/sdk.test.ts` names the import and
 * the shape that an SDK upgrade breaks.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire, Module } from 'node:module';
import { gunzipSync } from 'node:zlib';
import type { LoadedDataConverter } from '@temporalio/common';
import {
  decodeArrayFromPayloads,
  decodeOptionalSingle,
  encodeErrorToFailure,
  encodeToPayload,
  loadDataConverter,
} from '@temporalio/common/lib/internal-non-workflow/index.js';
import proto from '@temporalio/proto';
import type * as ActivityModule from '@temporalio/worker/lib/activity.js';
import type * as VmModule from '@temporalio/worker/lib/workflow/reusable-vm.js';
import type * as SharedModule from '@temporalio/worker/lib/workflow/vm-shared.js';
import type * as CodecModule from '@temporalio/worker/lib/workflow-codec-runner.js';
import Long from 'long';

export type { LoadedDataConverter };
export {
  decodeArrayFromPayloads,
  decodeOptionalSingle,
  encodeErrorToFailure,
  encodeToPayload,
  Long,
  loadDataConverter,
};
export const { coresdk, temporal } = proto;
export type { coresdk as Core, temporal as Api } from '@temporalio/proto';
export type WorkflowVm = Awaited<ReturnType<VmModule.ReusableVMWorkflowCreator['createWorkflow']>>;
export type VmOptions = Parameters<VmModule.ReusableVMWorkflowCreator['createWorkflow']>[0];
export type Activity = ActivityModule.Activity;

/** The SDK version against which the shapes below were checked. */
export const SDK_VERSION = '1.24.0';

const require = createRequire(import.meta.url);
const UPGRADE = `has changed since SDK ${SDK_VERSION}: adapt worlds/sdk.ts`;

const VM = '@temporalio/worker/lib/workflow/reusable-vm.js';
const SHARED = '@temporalio/worker/lib/workflow/vm-shared.js';
const ACTIVITY = '@temporalio/worker/lib/activity.js';
const CODEC = '@temporalio/worker/lib/workflow-codec-runner.js';
const CORE = '@temporalio/core-bridge';

function hasMethods(of: unknown, name: string, methods: readonly string[]): boolean {
  if (typeof of !== 'object' || of === null || !(name in of)) return false;
  const made: unknown = Reflect.get(of, name);
  const holder: unknown = typeof made === 'function' ? made.prototype : made;
  if (typeof holder !== 'object' || holder === null) return false;
  return methods.every((method) => typeof Reflect.get(holder, method) === 'function');
}

function isVm(loaded: unknown): loaded is typeof VmModule {
  return hasMethods(loaded, 'ReusableVMWorkflowCreator', ['createWorkflow', 'destroy']);
}
function isShared(loaded: unknown): loaded is typeof SharedModule {
  return (
    hasMethods(loaded, 'globalHandlers', ['install', 'setPromiseHook']) &&
    hasMethods(loaded, 'BaseVMWorkflow', ['activate', 'getAndResetSinkCalls'])
  );
}
function isActivity(loaded: unknown): loaded is typeof ActivityModule {
  return hasMethods(loaded, 'Activity', ['run']);
}
function isCodec(loaded: unknown): loaded is typeof CodecModule {
  return hasMethods(loaded, 'WorkflowCodecRunner', ['decodeActivation', 'encodeCompletion']);
}

interface Internals {
  vm: typeof VmModule;
  shared: typeof SharedModule;
  activity: typeof ActivityModule;
  codec: typeof CodecModule;
}

/**
 * Loads the VM with a stub of core that has only a clock, and removes these modules from the cache. The same process
 * can still load `@temporalio/worker` with the Rust core.
 */
function load(): Internals {
  const before = new Set(Object.keys(require.cache));
  const core = require.resolve(CORE);
  const real = require.cache[core];
  class CoreError extends Error {}
  let ticks = 0n;
  const exports = {
    native: { getTimeOfDay: () => ++ticks },
    errors: { ShutdownError: CoreError, TransportError: CoreError, UnexpectedError: CoreError },
  };
  const stub = Object.assign(new Module(core), { id: core, filename: core, loaded: true, exports });
  require.cache[core] = stub;
  try {
    const [vm, shared, activity, codec]: unknown[] = [VM, SHARED, ACTIVITY, CODEC].map((name) =>
      require(name),
    );
    if (!isVm(vm)) throw new Error(`${VM}: ReusableVMWorkflowCreator.createWorkflow, .destroy ${UPGRADE}`);
    if (!isShared(shared)) throw new Error(`${SHARED}: globalHandlers, BaseVMWorkflow ${UPGRADE}`);
    if (!isActivity(activity)) throw new Error(`${ACTIVITY}: Activity.run ${UPGRADE}`);
    if (!isCodec(codec))
      throw new Error(`${CODEC}: WorkflowCodecRunner.decodeActivation, .encodeCompletion ${UPGRADE}`);
    return { vm, shared, activity, codec };
  } finally {
    for (const name of Object.keys(require.cache))
      if (!before.has(name) && name.includes('@temporalio/worker')) delete require.cache[name];
    if (real) require.cache[core] = real;
    else delete require.cache[core];
  }
}

const internals = load();

/** Never called. By imports, `npm run test:changed` finds the tests that a change affects. */
export const bundledCode = () => import('../src/workflows/index.ts');

/** The compiled workflows. One instance per process is enough: every workflow has its own globals. */
export interface Workflows {
  /** Identifies the code: a replay of its own commands must be equal byte for byte. */
  readonly codeVersion: string;
  create(options: VmOptions): Promise<WorkflowVm>;
  destroy(): Promise<void>;
}

/** `bundleFile`: written by `npm run bundle-workflows`, or compressed with gzip. */
export async function loadWorkflows(bundleFile: string): Promise<Workflows> {
  const { ReusableVMWorkflowCreator } = internals.vm;
  // Only stack trace queries use the promise hook, which takes two thirds of the time.
  Reflect.set(internals.shared.globalHandlers, 'setPromiseHook', () => undefined);
  const bytes = readFileSync(bundleFile);
  const code = (bundleFile.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('utf8');
  // No time limit in the VM: it would measure the real clock and start a watchdog thread for each call.
  const noLimit = undefined;
  const bundle = { code, sourceMap: sourceMapOf(code), filename: bundleFile };
  const creator: VmModule.ReusableVMWorkflowCreator = await Reflect.apply(
    ReusableVMWorkflowCreator.create,
    ReusableVMWorkflowCreator,
    [bundle, noLimit, NO_LOCAL_ACTIVITIES],
  );
  return {
    codeVersion: createHash('sha256').update(code).digest('hex').slice(0, 8),
    create: async (options) => {
      const made = await creator.createWorkflow(options);
      injectClock(made, options.info.unsafe.now);
      return made;
    },
    destroy: () => creator.destroy(),
  };
}

/** Sets `workflowInfo().unsafe.now`, which the creator always sets to the machine's clock. */
function injectClock(workflow: WorkflowVm, now: () => number): void {
  const activator: unknown = Reflect.get(workflow, 'activator');
  const isThere = typeof activator === 'object' && activator !== null;
  const mutate: unknown = isThere ? Reflect.get(activator, 'mutateWorkflowInfo') : undefined;
  if (typeof mutate !== 'function') throw new Error(`${VM}: activator.mutateWorkflowInfo ${UPGRADE}`);
  const change = (info: VmOptions['info']) => ({ ...info, unsafe: { ...info.unsafe, now } });
  Reflect.apply(mutate, activator, [change]);
}

const NO_LOCAL_ACTIVITIES: ReadonlySet<string> = new Set();

function sourceMapOf(code: string) {
  const encoded = code.slice(code.lastIndexOf('//# sourceMappingURL=')).split('base64,')[1] ?? '';
  return JSON.parse(Buffer.from(encoded, 'base64').toString());
}

type ActivityArguments = ConstructorParameters<typeof ActivityModule.Activity>;

/** An activity as an SDK worker runs it: `activity.run({ args, headers })`. */
export function newActivity(...args: ActivityArguments): Activity {
  return new internals.activity.Activity(...args);
}

/** Decodes and encodes the payloads of a workflow as an SDK worker does. */
export function newCodecRunner({ payloadCodecs }: LoadedDataConverter, workflowId: string) {
  const context = { type: 'workflow', namespace: 'default', workflowId } as const;
  return new internals.codec.WorkflowCodecRunner(payloadCodecs, context);
}
