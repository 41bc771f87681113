import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { projectRoot } from '../../scripts/setup/process.mjs';
import { VERSION } from '../../src/config/version.ts';

/** Where each file names our version. */
const PLACES: Record<string, RegExp> = {
  'CHANGELOG.md': /^## \[(\d[\w.-]*)\]/m,
  'package.json': /^ {2}"version": "([\w.-]+)"/m,
  'package-lock.json': /^ {2}"version": "([\w.-]+)"/m,
  '.env.example': /PAYOUTS_BUILD_ID=([\w.-]+)/,
  'deploy/kubernetes/overlays/production/kustomization.yaml': /newTag: ([\w.-]+)/,
  'deploy/kubernetes/overlays/sandbox/kustomization.yaml': /newTag: ([\w.-]+)/,
  'deploy/kubernetes/worker-controller/worker-deployment.yaml': /durable-payouts:([\w.-]+)/,
  'docs/cli.md': /durable-payouts-([\w.-]+)\.tgz/,
  'docs/client.md': /durable-payouts-client-([\w.-]+)\.tgz/,
  'docs/systemd.md': /durable-payouts@([\w.-]+)/,
};

test.each(Object.entries(PLACES))('%s names this version', (file, version) => {
  expect(version.exec(readFileSync(join(projectRoot, file), 'utf8'))?.[1]).toBe(VERSION);
});
