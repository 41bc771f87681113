/**
 * Where the set-up speaks. Always standard error: standard output belongs to the program that is set up,
 * which may be asked for `--json`.
 */

/** @typedef {(line: string) => void} Say */

/** @type {Say} */
export function say(line) {
  process.stderr.write(`[setup] ${line}\n`);
}

/** Something a person can act on: its message is all that is printed. */
export class SetupError extends Error {
  /** @override */
  name = 'SetupError';
}

/**
 * Runs a program's main function; a `SetupError` is shown as its message alone.
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
