/** Writes `docs/open-points.md` from the list in the code: `node --import tsx scripts/write-open-points.ts`. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { OPEN_POINTS } from '../src/domain/open-points.ts';

export const OPEN_POINTS_PAGE = join(import.meta.dirname, '../docs/open-points.md');

const HEAD = `# What the specification leaves open

Written from \`src/domain/open-points.ts\`; change it there. \`npm run payouts -- doctor\` looks at the service through a
worker and says which assumption holds; it only reads. Give it \`--client-id\`, \`--order\` (an existing payout) and
\`--payer-id\` to see more.
`;

export function openPointsPage(): string {
  const sections = OPEN_POINTS.map(({ id, open, assumption, setting, probe }) =>
    [
      `## ${id}`,
      '',
      `- **Open:** ${open}`,
      `- **Taken to be so:** ${assumption}`,
      `- **Setting:** ${setting || 'none: every reading is accepted, or none is safe to offer'}`,
      `- **Probe:** ${probe || 'none: no harmless read can tell'}`,
    ].join('\n'),
  );
  return `${[HEAD, ...sections].join('\n').replaceAll('\n## ', '\n\n## ').replaceAll('\n\n\n', '\n\n')}\n`;
}

if (process.argv[1] === import.meta.filename) writeFileSync(OPEN_POINTS_PAGE, openPointsPage());
