/**
 * Lets the Temporal SDK download its own dev server into the folder given as argument. A program of its own,
 * because the SDK's download knows no time limit: whoever starts it can end it.
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
  // The address is said several times over; the cause stands last.
  console.error(message.split(': ').slice(-2).join(': '));
  process.exitCode = 1;
}
