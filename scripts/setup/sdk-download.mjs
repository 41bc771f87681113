/**
 * Lets the Temporal SDK download its own dev server into the given folder. It is a separate program, because the SDK's
 * download has no time limit: the caller can kill it.
 */
import { TestWorkflowEnvironment } from '@temporalio/testing';

const downloadDir = process.argv[2];
if (!downloadDir) throw new Error('usage: sdk-download.mjs FOLDER');
try {
  const environment = await TestWorkflowEnvironment.createLocal({
    server: { executable: { type: 'cached-download', downloadDir } },
  });
  await environment.teardown();
} catch (error) {
  const message = error instanceof Error ? error.message : String(error);
  // The message repeats the URL; the cause comes last.
  console.error(message.split(': ').slice(-2).join(': '));
  process.exitCode = 1;
}
