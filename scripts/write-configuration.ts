/** Writes `docs/configuration.md` from the zod schemas: `node --import tsx scripts/write-configuration.ts`. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SECTIONS, type Section } from './configuration/sections.ts';
import { type Shape, variablesOf } from './configuration/variables.ts';
import { anchorOf, code, table } from './markdown.ts';

export const CONFIGURATION_PAGE = join(import.meta.dirname, '../docs/configuration.md');

const HEAD = `# Configuration

Written from the schemas in \`src/config\` by \`node --import tsx scripts/write-configuration.ts\`; change them there.

Each process reads its environment once, at startup. An empty variable counts as absent. If a variable is missing or invalid,
the process prints its name, never its value, and exits with code 1.

- **Durations** are written \`500ms\`, \`30s\`, \`10m\`, \`12h\` or \`30d\`.
- **Spec** is the specification of the provider's API, by section. [Open points](open-points.md) lists what it leaves open.
- No program reads a \`.env\` file. [.env.example](../.env.example) is a template for what starts the processes, such as a shell,
  systemd or a container runtime.

## Secrets

A _secret_ is the secret itself or \`file:PATH\`, the path of a file that contains it:

\`\`\`sh
PAYMENTS_APP_SECRET=file:/run/secrets/app-secret
\`\`\`

- The process reads the file once, at startup, except for \`TEMPORAL_API_KEY\`, and removes line breaks at its end. If the file is
  empty or can't be read, the process doesn't start. A secret that begins with \`file:\` must be in a file.
- Unless \`PAYMENTS_ENVIRONMENT=test\`, a process doesn't start with a secret that this repository publishes, or with an encryption
  key that isn't random. Without \`PAYMENTS_ENVIRONMENT\`, the codec server, the CLI and the client library have the same rule.
- Give each process only the variables of its sections: only workers hold the application's secret.
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

/** A variable that means the same as in an earlier section only refers to it. */
function variablesTable(shape: Shape, head: string, title: string, earlier: Map<string, string>): string {
  return table(
    [head, 'Type', 'Required or default', 'Meaning'],
    variablesOf(shape).map((variable) => {
      const { name, type, need, meaning } = variable;
      const key = JSON.stringify(variable);
      const first = earlier.get(key) ?? title;
      earlier.set(key, first);
      const said = first === title ? meaning : `See [${first}](#${anchorOf(first)}).`;
      return [code(name), type, need, said];
    }),
  );
}

if (process.argv[1] === import.meta.filename) writeFileSync(CONFIGURATION_PAGE, configurationPage());
