/** Writes `docs/configuration.md` from the zod schemas: `node --import tsx scripts/write-configuration.ts`. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SECTIONS, type Section } from './configuration/sections.ts';
import { type Shape, variablesOf } from './configuration/variables.ts';
import { code, table } from './markdown.ts';

export const CONFIGURATION_PAGE = join(import.meta.dirname, '../docs/configuration.md');

const HEAD = `# Configuration

Written from the schemas in \`src/config\` by \`node --import tsx scripts/write-configuration.ts\`; change them there.

Each process reads its environment once, at startup. An empty variable counts as absent. If a variable is missing or invalid,
the process prints its name, never its value, and exits with code 1.

- **Durations** are written \`500ms\`, \`30s\`, \`10m\`, \`12h\` or \`30d\`.
- **Spec** is the specification of the provider's API, by section. [Open points](open-points.md) lists what it leaves open, with
  the variable that decides.
- No program reads a \`.env\` file. [.env.example](../.env.example) is a template for what starts the processes, such as a shell,
  systemd or a container runtime.

## Secrets

A variable of the type _secret_ holds the secret itself or \`file:PATH\`, the path of a file that contains it, which is how
Docker and Kubernetes mount secrets:

\`\`\`sh
PAYMENTS_APP_SECRET=file:/run/secrets/app-secret
\`\`\`

- The process reads the file once, at startup: restart it after a change, except of \`TEMPORAL_API_KEY\`. Line breaks at the end of the file are removed.
- If the file cannot be read or is empty, the process does not start and prints the name of the variable.
- A secret that itself begins with \`file:\` must be in a file.
- Unless \`PAYMENTS_ENVIRONMENT=test\`, a process does not start with a secret that this repository publishes: \`demo-secret\`,
  the keys of \`deploy/trial-callers.json\`, and those of the simulation and the fuzzing; nor with an encryption key that is not
  random. Without \`PAYMENTS_ENVIRONMENT\`, the codec server, the CLI and the client library have the same rule.
- Only workers hold the application's secret. Give each process only the variables of its sections.
- The examples in Python, Go and Java read \`PAYOUTS_ENCRYPTION_KEYS\` themselves and do not know \`file:PATH\`.
`;

export function configurationPage(): string {
  return `${[HEAD.trimEnd(), ...SECTIONS.map(written)].join('\n\n')}\n`;
}

function written({ title, text, tables }: Section): string {
  const parts = tables.flatMap(({ title: below, head, shape, after }) => [
    ...(below === undefined ? [] : [`### ${below}`]),
    variablesTable(shape, head ?? 'Variable'),
    ...(after === undefined ? [] : [after]),
  ]);
  return [`## ${title}`, ...(text === undefined ? [] : [text]), ...parts].join('\n\n');
}

function variablesTable(shape: Shape, head: string): string {
  return table(
    [head, 'Type', 'Required or default', 'Meaning'],
    variablesOf(shape).map(({ name, type, need, meaning }) => [code(name), type, need, meaning]),
  );
}

if (process.argv[1] === import.meta.filename) writeFileSync(CONFIGURATION_PAGE, configurationPage());
