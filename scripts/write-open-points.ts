/** Writes `docs/open-points.md` from the list in the code: `node --import tsx scripts/write-open-points.ts`. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { OPEN_POINTS } from '../src/contract/open-points.ts';

export const OPEN_POINTS_PAGE = join(import.meta.dirname, '../docs/open-points.md');

const HEAD = `# What the specification leaves open

Generated from \`src/contract/open-points.ts\`; change it there. \`npm run payouts -- doctor\` queries the provider through a
worker and reports which assumptions hold. It only reads. With \`--client-id\`, \`--order\` (an existing payout) and
\`--payer-id\`, it checks more of them.
`;

export function openPointsPage(): string {
  const sections = OPEN_POINTS.map(({ id, open, assumption, setting, probe }) =>
    [
      `## ${id}`,
      '',
      `- **Open:** ${open}`,
      `- **Assumption:** ${assumption}`,
      `- **Setting:** ${setting || 'none: every spelling is accepted, or no alternative is safe'}`,
      `- **Probe:** ${probe || 'none: no harmless read can check this'}`,
    ].join('\n'),
  );
  return `${[HEAD, ...sections].join('\n').replaceAll('\n## ', '\n\n## ').replaceAll('\n\n\n', '\n\n')}\n`;
}

if (process.argv[1] === import.meta.filename) writeFileSync(OPEN_POINTS_PAGE, openPointsPage());
