/**
 * Messages of the setup. They go to standard error, because standard output belongs to the program that runs after
 * it, perhaps with `--json`.
 */

/** @typedef {(line: string) => void} Say */

/** @type {Say} */
export function say(line) {
  process.stderr.write(`[setup] ${line}\n`);
}

/** An error that a person can fix: only its message is printed. */
export class SetupError extends Error {
  /** @override */
  name = 'SetupError';
}

/**
 * Runs a program's main function and prints only the message of a `SetupError`.
 * @param {() => Promise<number>} main
 */
export async function runMain(main) {
  try {
    process.exitCode = await main();
  } catch (error) {
    if (error instanceof SetupError) process.stderr.write(`\n${error.message}\n`);
    else console.error(error);
    process.exitCode = 1;
  }
}
