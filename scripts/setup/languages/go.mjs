/** The Go example: one binary. Its packages are fetched and compiled into Go's own caches. */
import { join } from 'node:path';

/** @type {import('../examples.mjs').Language} */
export const GO = {
  folder: 'examples/go',
  needs: 'Go 1.26 or newer, as `go` on PATH',
  // In the example's folder, where `go.mod` says which version it needs: an older Go gets it, or fails.
  probe: ['go', 'version'],
  sources: ['codec.go', 'go.mod', 'go.sum', 'main.go'],
  takes: '20 MB, about 1 min',
  build: (_source, target) => [['go', 'build', '-o', join(target, 'pay'), '.']],
  program: (_source, target) => [join(target, 'pay')],
};
