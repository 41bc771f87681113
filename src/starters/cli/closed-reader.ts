/**
 * Ends the process when the reader of its output has closed it, as `| head` does. By then the verb has done its work, or
 * only shows something: its exit code, if it has one, stays.
 */
export function endWithReader(): void {
  for (const stream of [process.stdout, process.stderr])
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error;
      process.exit();
    });
}
