/** A row of a batch file. */
export interface FileRow {
  /** Where the row begins, from 1. */
  line: number;
  /** A payout request, not yet validated. */
  row: unknown;
}

/** Thrown for a file that cannot be read as a whole. The message is for people, and quotes nothing of the file. */
export class BatchFileError extends Error {
  override readonly name = 'BatchFileError';
}
