/** `docs/configuration.md`, from the zod schemas. */
import { join } from 'node:path';
import { SECTIONS, type Section } from './configuration/sections.ts';
import { type Shape, variablesOf } from './configuration/variables.ts';
import { anchorOf, code, table } from './markdown.ts';

export const CONFIGURATION_PAGE = join(import.meta.dirname, '../docs/configuration.md');

const HEAD = `# Configuration

Written by \`npm run generate\` from the schemas in \`src/config\`; change them there.

Each process reads its environment once, at startup. An empty variable counts as absent. If a variable is missing or invalid,
the process prints its name, never its value, and exits with code 1. No program reads a \`.env\` file;
[.env.example](../.env.example) is a template.

- **Durations** are written \`500ms\`, \`30s\`, \`10m\`, \`12h\` or \`30d\`.
- **Spec** is the provider's specification, by section. [Open points](open-points.md) lists what it leaves open.

## Secrets

A _secret_ is the secret itself or \`file:PATH\`, such as \`PAYMENTS_APP_SECRET=file:/run/secrets/payments-app-secret\`.

- The process reads the file at startup, without line breaks at its end. A secret that begins with \`file:\` must be in a file.
- Unless \`PAYMENTS_ENVIRONMENT=test\`, a process doesn't start with a secret that is published in this repository, that is short
  (of what you make, less than 32 characters; of what the provider or Temporal issues, less than 16), that isn't random, or that
  is used twice, such as one key under two names. Of callers' keys, the API server sees only hashes: make them with
  \`openssl rand -base64 32\`. A signer or verifier of your own may use any key that isn't published.
- Only a _loopback test_ may run without encryption: \`PAYMENTS_ENVIRONMENT=test\`, and \`PAYMENTS_BASE_URL\` is a loopback address.
- Give each process only the variables in its sections. Only workers hold the application's secret.
`;

export function configurationPage(): string {
  const earlier = new Map<string, string>();
  return `${[HEAD.trimEnd(), ...SECTIONS.map((section) => written(section, earlier))].join('\n\n')}\n`;
}

/** `earlier`: the variables of the sections above, each with the title of its section. */
function written({ title, text, tables }: Section, earlier: Map<string, string>): string {
  const parts = tables.flatMap(({ title: below, head, shape, after }) => [
    ...(below === undefined ? [] : [`### ${below}`]),
    variablesTable(shape, head ?? 'Variable', title, earlier),
    ...(after === undefined ? [] : [after]),
  ]);
  return [`## ${title}`, ...(text === undefined ? [] : [text]), ...parts].join('\n\n');
}

/** Variables that mean the same as in an earlier section are named below the table, with a link to that section. */
function variablesTable(shape: Shape, head: string, title: string, earlier: Map<string, string>): string {
  const again = new Map<string, string[]>();
  const rows = variablesOf(shape).flatMap((variable) => {
    const { name, type, need, meaning } = variable;
    const key = JSON.stringify(variable);
    const first = earlier.get(key) ?? title;
    earlier.set(key, first);
    if (first === title) return [[code(name), type, need, meaning]];
    again.set(first, [...(again.get(first) ?? []), code(name)]);
    return [];
  });
  return [
    ...(rows.length > 0 ? [table([head, 'Type', 'Required or default', 'Meaning'], rows)] : []),
    ...[...again].map(([first, names]) => `As in [${first}](#${anchorOf(first)}): ${names.join(', ')}.`),
  ].join('\n\n');
}
