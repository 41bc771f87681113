/** `npm run generate`: writes the pages and files that are generated, from the code and from the logs of the campaigns. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot, runAttached, runMain } from '../scripts/setup/process.mjs';
import { PROMETHEUS_RULE, prometheusRule } from '../scripts/write-alerts.ts';
import { CONFIGURATION_PAGE, configurationPage } from '../scripts/write-configuration.ts';
import { REFERENCE_PAGE, referencePage } from '../scripts/write-reference.ts';
import { SCALING_PAGE, scalingPage } from '../scripts/write-scaling.ts';
import { SCHEMAS_FOLDER, schemaFiles } from '../scripts/write-schemas.ts';
import { RELIABILITY_PAGE, reliabilityPage } from './write-reliability.ts';

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
