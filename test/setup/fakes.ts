/** Small programs that stand in for real ones, and a folder for each test. */
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';

export const CLI_VERSION_OUTPUT = 'temporal version 1.5.1 (Server 1.29.1, UI 2.42.1)';

export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'payouts-setup-test-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A program that prints one line and exits with that code. Returns its path. */
export function fakeProgram(path: string, says: string, code = 0): string {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `#!/bin/sh\necho '${says}'\nexit ${code}\n`);
  chmodSync(path, 0o755);
  return path;
}

/** Collects the messages of the setup. */
export function listener(): { said: string[]; say: (line: string) => void } {
  const said: string[] = [];
  return { said, say: (line) => said.push(line) };
}
