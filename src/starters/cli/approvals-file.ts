/** The file of `settings --approvals`. */
import { type ApprovalsFile, readApprovals } from '../../config/cli-config.ts';
import { ConfigError } from '../../config/environment.ts';
import { UsageError } from './output.ts';

export function approvalsOf(path: string): ApprovalsFile {
  try {
    return readApprovals(path);
  } catch (error) {
    throw error instanceof ConfigError ? new UsageError(error.problems.join('\n')) : error;
  }
}
