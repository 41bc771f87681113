/** Finds or builds Kustomize, which renders the manifests in the tests. */
import { say } from './console.mjs';
import { goInstall } from './go-install.mjs';
import { findProgram } from './go-program.mjs';

const VERSION = '5.7.1';

/** @returns {Promise<string>} the path of the program */
export function findKustomize() {
  const program = {
    variable: 'KUSTOMIZE_PATH',
    file: `kustomize-${VERSION}`,
    source: `sigs.k8s.io/kustomize/kustomize/v5@v${VERSION}`,
    program: 'kustomize',
    minutes: '1 to 3',
  };
  return findProgram(program, process.env, say, goInstall);
}
