/** `npm run generate`: writes the pages and files that are generated from the code, and formats them. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { RELIABILITY_PAGE, reliabilityPage } from '../worlds/write-reliability.ts';
import { projectRoot, runAttached, runMain } from './setup/process.mjs';
import { PROMETHEUS_RULE, prometheusRule } from './write-alerts.ts';
import { CONFIGURATION_PAGE, configurationPage } from './write-configuration.ts';
import { REFERENCE_PAGE, referencePage } from './write-reference.ts';
import { SCALING_PAGE, scalingPage } from './write-scaling.ts';
import { SCHEMAS_FOLDER, schemaFiles } from './write-schemas.ts';

await runMain(() => {
  mkdirSync(SCHEMAS_FOLDER, { recursive: true });
  for (const [name, schema] of Object.entries(schemaFiles()))
    writeFileSync(join(SCHEMAS_FOLDER, name), JSON.stringify(schema, null, 2));
  writeFileSync(CONFIGURATION_PAGE, configurationPage());
  writeFileSync(REFERENCE_PAGE, referencePage());
  writeFileSync(SCALING_PAGE, scalingPage());
  writeFileSync(RELIABILITY_PAGE, reliabilityPage(readFileSync(RELIABILITY_PAGE, 'utf8')));
  writeFileSync(PROMETHEUS_RULE, prometheusRule());
  const biome = join(projectRoot, 'node_modules/.bin/biome');
  return runAttached(biome, ['format', '--write', SCHEMAS_FOLDER]);
});
