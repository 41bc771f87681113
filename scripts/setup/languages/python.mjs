/** The Python example: a virtual environment with the packages of its `requirements.txt`. */
import { join } from 'node:path';

const IS_NEW_ENOUGH =
  'import ensurepip, sys, venv; print(sys.version, sys.executable); sys.exit(sys.version_info < (3, 10))';

/** @type {import('../examples.mjs').Language} */
export const PYTHON = {
  folder: 'examples/python',
  needs: 'Python 3.10 or newer with its venv module, as `python3` on PATH',
  probe: ['python3', '-c', IS_NEW_ENOUGH],
  versioned: true,
  // The program itself is not built: it runs from its source folder.
  sources: ['requirements.txt'],
  takes: '30 MB, about 10 s',
  build: (_source, target) => [
    ['python3', '-m', 'venv', target],
    [join(target, 'bin', 'pip'), 'install', '--quiet', '--requirement', 'requirements.txt'],
  ],
  program: (source, target) => [join(target, 'bin', 'python'), join(source, 'pay.py')],
};
