/** The uploaded files of batches that were not started yet. They are in the memory of this process, for a limited time. */
import type { Runtime } from '../runtime/runtime.ts';
import { Problem } from '../service/problem.ts';

/** As for a batch in JSON. */
export const MAX_UPLOAD_BYTES = 4 * 1024 * 1024;
const MAX_UPLOADS = 20;
/** So that one person cannot push out the files of all others. */
const MAX_UPLOADS_PER_PERSON = 3;
const KEPT_MS = 30 * 60_000;

export interface Upload {
  /** Who uploaded it, and in which session: the `formToken`. */
  owner: string;
  person: string;
  app: string;
  batchId: string;
  fileName: string;
  bytes: Buffer;
}

export class Uploads {
  readonly #runtime: Runtime;
  /** The oldest first. */
  readonly #uploads = new Map<string, Upload & { atMs: number }>();

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  /** Returns its id. The oldest uploads are discarded if there are too many. */
  keep(upload: Upload): string {
    const atMs = this.#runtime.clock.wallMs();
    for (const [id, one] of this.#uploads) if (atMs - one.atMs >= KEPT_MS) this.#uploads.delete(id);
    const own = [...this.#uploads].filter(([, { person }]) => person === upload.person);
    const [oldest] =
      own.length >= MAX_UPLOADS_PER_PERSON
        ? own
        : [...this.#uploads].slice(0, this.#uploads.size - MAX_UPLOADS + 1);
    if (oldest) this.#uploads.delete(oldest[0]);
    const id = this.#runtime.random.uuid();
    this.#uploads.set(id, { ...upload, atMs });
    return id;
  }

  /** Throws a 404 if it was discarded, or is of another session. */
  get(id: string, owner: string): Upload {
    const upload = this.#uploads.get(id);
    const isKept = upload !== undefined && this.#runtime.clock.wallMs() - upload.atMs < KEPT_MS;
    if (!isKept || upload.owner !== owner)
      throw new Problem('not-found', 'the uploaded file is no longer kept: upload it again');
    return upload;
  }

  discard(id: string): void {
    this.#uploads.delete(id);
  }
}
