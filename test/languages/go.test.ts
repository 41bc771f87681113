import { LANGUAGES } from '../../scripts/setup/examples.mjs';
import { promisesOf } from './promises.ts';

await promisesOf(LANGUAGES.go, 'from Go');
