import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  findTemporalServer,
  findTemporalUi,
  type goInstall,
  SERVER_VERSION,
  UI_VERSION,
} from '../../scripts/setup/go-programs.ts';
import { SetupError } from '../../scripts/setup/process.mjs';
import { composeFile } from '../compose/compose-file.ts';
import { fakeProgram, listener, temporaryFolder } from './fakes.ts';

const never = () => Promise.reject(new Error('nothing was to be built'));

function cache() {
  const folder = temporaryFolder();
  return { env: { DURABLE_PAYOUTS_CACHE: folder }, bin: join(folder, 'bin') };
}

describe('the Temporal server of production', () => {
  test('has the version of the compose file', () => {
    const { services } = composeFile();
    expect(services['temporal-history']?.image).toBe(`temporalio/server:${SERVER_VERSION}`);
    expect(services['temporal-schema']?.image).toBe(`temporalio/admin-tools:${SERVER_VERSION}`);
    expect(services['temporal-ui']?.image).toBe(`temporalio/ui:${UI_VERSION}`);
  });

  test('uses the programs that the variables name', async () => {
    const folder = temporaryFolder();
    const [server, sqlTool] = ['a', 'b'].map((name) => fakeProgram(join(folder, name), 'hello'));
    const env = { TEMPORAL_SERVER_PATH: server, TEMPORAL_SQL_TOOL_PATH: sqlTool };
    expect(await findTemporalServer({ env, build: never })).toEqual({ server, sqlTool });
  });

  test('uses the Temporal UI that the variable names, or builds it', async () => {
    const { env, bin } = cache();
    const TEMPORAL_UI_SERVER_PATH = fakeProgram(join(temporaryFolder(), 'ui'), 'hello');
    expect(await findTemporalUi({ env: { ...env, TEMPORAL_UI_SERVER_PATH }, build: never })).toBe(
      TEMPORAL_UI_SERVER_PATH,
    );
    const { say } = listener();
    const build: typeof goInstall = async ({ program }, folder) =>
      fakeProgram(join(folder, program), 'hello');
    const built = join(bin, `temporal-ui-server-${UI_VERSION}`);
    expect(await findTemporalUi({ env, say, build })).toBe(built);
    expect(await findTemporalUi({ env, build: never })).toBe(built);
  });

  test('reports a variable that names a missing file, and builds nothing', async () => {
    const env = { ...cache().env, TEMPORAL_SERVER_PATH: '/nowhere' };
    const failure = await findTemporalServer({ env, build: never }).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(SetupError);
    expect(String(failure)).toContain('TEMPORAL_SERVER_PATH: /nowhere');
  });

  test('builds once, also for concurrent commands, and caches by version', async () => {
    const { env, bin } = cache();
    const { say } = listener();
    const built: string[] = [];
    const build: typeof goInstall = async ({ source, program }, folder) => {
      built.push(source);
      return fakeProgram(join(folder, program), 'hello');
    };
    const found = await Promise.all([1, 2, 3].map(() => findTemporalServer({ env, say, build })));
    const files = [`temporal-server-${SERVER_VERSION}`, `temporal-sql-tool-${SERVER_VERSION}`];
    const [server, sqlTool] = files.map((file) => join(bin, file));
    expect(found).toEqual([1, 2, 3].map(() => ({ server, sqlTool })));
    expect(built).toEqual([
      `go.temporal.io/server/cmd/server@v${SERVER_VERSION}`,
      `go.temporal.io/server/cmd/tools/sql@v${SERVER_VERSION}`,
    ]);
    // No partial file is left beside it.
    expect(readdirSync(bin).sort()).toEqual(files);
    expect(await findTemporalServer({ env, build: never })).toEqual({ server, sqlTool });
  });

  test('lists every alternative in one message when it cannot be built', async () => {
    const { env, bin } = cache();
    const failure = await findTemporalServer({ env, build: async () => undefined }).catch(
      (error: unknown) => error,
    );
    expect(failure).toBeInstanceOf(SetupError);
    for (const way of ['TEMPORAL_SERVER_PATH', bin, 'Go']) expect(String(failure)).toContain(way);
  });
});
