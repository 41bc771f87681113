import { LANGUAGES } from '../../scripts/setup/examples.ts';
import { testExample } from './example-tests.ts';

await testExample(LANGUAGES.java, 'from Java');
