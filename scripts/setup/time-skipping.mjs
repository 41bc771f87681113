/** Temporal's time-skipping test server, which tests of long waits use: its jars, by Maven, and a script that starts it. */
import { join } from 'node:path';
import { JAVA } from './languages/java.mjs';

/** @type {import('./examples.mjs').Language} */
export const TIME_SKIPPING = {
  folder: 'test/support/time-skipping',
  needs: JAVA.needs,
  probe: JAVA.probe,
  ...(JAVA.isNewEnough && { isNewEnough: JAVA.isNewEnough }),
  sources: ['pom.xml', 'test-server'],
  takes: '40 MB, about 15 s',
  build: (source, target) => [
    ['mvn', '-q', '-B', '-ntp', 'dependency:copy-dependencies', `-DoutputDirectory=${join(target, 'lib')}`],
    ['cp', join(source, 'test-server'), target],
  ],
  program: (_source, target) => [join(target, 'test-server')],
};
