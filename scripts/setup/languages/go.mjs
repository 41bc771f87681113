/** The Go example: one binary. Go keeps the packages in its own caches. */
import { join } from 'node:path';

/** @type {import('../examples.mjs').Language} */
export const GO = {
  folder: 'examples/go',
  needs: 'Go 1.26 or newer, as `go` on PATH',
  // Runs in the example's folder, where `go.mod` names the required version: an older Go downloads it, or fails.
  probe: ['go', 'version'],
  sources: ['codec.go', 'go.mod', 'go.sum', 'main.go'],
  takes: '20 MB, about 1 min',
  build: (_source, target) => [['go', 'build', '-o', join(target, 'pay'), '.']],
  program: (_source, target) => [join(target, 'pay')],
};
