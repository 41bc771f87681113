/** The Java example: a jar and its dependencies, built with Maven, which keeps downloads in its own folder. */
import { join } from 'node:path';

/** @type {import('../examples.mjs').Language} */
export const JAVA = {
  folder: 'examples/java',
  needs: 'a JDK 17 or newer and Maven, as `java`, `javac` and `mvn` on PATH',
  probe: ['sh', '-c', 'mvn --version && java --version && javac --version'],
  isNewEnough: (output) => Number(/^javac (\d+)/m.exec(output)?.[1]) >= 17,
  sources: ['pom.xml', 'src/main/java/payouts/EncryptionCodec.java', 'src/main/java/payouts/Pay.java'],
  takes: '80 MB, about 1 min',
  build: (_source, target) => [['mvn', '-q', '-B', '-ntp', 'package', `-Dfolder=${target}`]],
  // A short-lived process needs neither the second compiler nor a parallel garbage collector.
  program: (_source, target) => [
    'java',
    '-XX:TieredStopAtLevel=1',
    '-XX:+UseSerialGC',
    '-jar',
    join(target, 'pay.jar'),
  ],
};
