import { LANGUAGES } from '../../scripts/setup/examples.mjs';
import { testExample } from './example-tests.ts';

await testExample(LANGUAGES.go, 'from Go');
