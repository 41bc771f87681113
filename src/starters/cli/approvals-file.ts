/** The file of `settings --approvals`. */
import { type ApprovalsFile, readApprovals } from '../../config/cli-config.ts';
import { UsageError } from './answer.ts';

export function approvalsOf(path: string): ApprovalsFile {
  const file = readApprovals(path);
  if (!file.ok) throw new UsageError(file.problems.join('\n'));
  return file.value;
}
