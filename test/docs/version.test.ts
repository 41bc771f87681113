import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { projectRoot } from '../../scripts/setup/process.mjs';
import { VERSION } from '../../src/config/version.ts';

/** Each names a version of ours, and no other. */
const PLACES: Record<string, RegExp> = {
  'package.json': /^ {2}"version": "([\d.]+)"/m,
  'package-lock.json': /^ {2}"version": "([\d.]+)"/m,
  '.env.example': /PAYOUTS_BUILD_ID=([\d.]+)/,
  'deploy/kubernetes/overlays/production/kustomization.yaml': /newTag: ([\d.]+)/,
  'deploy/kubernetes/overlays/sandbox/kustomization.yaml': /newTag: ([\d.]+)/,
  'deploy/kubernetes/worker-controller/worker-deployment.yaml': /durable-payouts:([\d.]+)/,
  'docs/cli.md': /durable-payouts-([\d.]+)\.tgz/,
  'docs/client.md': /durable-payouts-client-([\d.]+)\.tgz/,
  'docs/systemd.md': /durable-payouts@([\d.]+)/,
};

test.each(Object.entries(PLACES))('%s names this version', (file, version) => {
  expect(version.exec(readFileSync(join(projectRoot, file), 'utf8'))?.[1]).toBe(VERSION);
});
