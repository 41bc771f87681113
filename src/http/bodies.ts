/** Bounds what request bodies take at once, of which nobody can take the others' share. Files go to disk. */
import { randomUUID } from 'node:crypto';
import { type FileHandle, open, unlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { BatchFile } from '../batch-file/batch-file.ts';
import { networkOf } from '../runtime/addresses.ts';
import { Problem } from '../service/problem.ts';
import { Shares } from '../service/shares.ts';
import { CallerGoneError } from '../service/waits.ts';
import { authenticatedCaller } from './authentication.ts';
import { goneSignal } from './connections.ts';

const MIB = 1024 * 1024;
/** Of all bodies that are in memory. */
const MAX_BODIES_BYTES = 64 * MIB;
/** Of those without a key, so that many addresses take nothing from callers. */
const MAX_KEYLESS_BYTES = 16 * MIB;
/** About 50,000 rows of ordinary size. */
const MAX_FILE_BYTES = 40 * MIB;
/** Of all files that are on disk. */
const MAX_FILES_BYTES = 8 * MAX_FILE_BYTES;

const FILES = [
  ['application/x-ndjson', 'ndjson'],
  ['text/csv', 'csv'],
] as const;

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The body may be a file. */
    takesFiles?: true;
  }
}

const received = new WeakMap<FastifyRequest, Received>();

/** Responds with a 503 before a body is read, if its sender has its share. A sender is a caller, or a network without a key. */
export function limitBodies(server: FastifyInstance): void {
  const bodies = new Shares(MAX_BODIES_BYTES, 'too many bodies arrive at once');
  const keyless = new Shares(MAX_KEYLESS_BYTES, 'too many bodies arrive at once');
  const files = new Shares(MAX_FILES_BYTES, 'too many files arrive at once');
  server.addHook('preParsing', async (request, reply) => {
    const { 'content-length': length, 'transfer-encoding': encoding, 'content-type': type } = request.headers;
    if (length === undefined && encoding === undefined) return;
    const { takesFiles } = request.routeOptions.config;
    const caller = authenticatedCaller(request);
    const [shares, limit] =
      takesFiles && FILES.some(([file]) => type?.startsWith(file))
        ? [files, MAX_FILE_BYTES]
        : [caller ? bodies : keyless, request.routeOptions.bodyLimit ?? 0];
    const sender = caller?.name ?? networkOf(request.ip);
    goneSignal(reply).throwIfAborted();
    const giveBack = shares.take(sender, Math.min(limit, Number(length ?? limit)));
    reply.raw.once('close', () => {
      giveBack();
      void received.get(request)?.close();
    });
  });
}

/** Accepts files of payouts, each as a `BatchFile`. */
export function acceptFiles(scope: Pick<FastifyInstance, 'addContentTypeParser'>): void {
  for (const [type, format] of FILES)
    scope.addContentTypeParser(type, async (request: FastifyRequest, body: Readable) => {
      const file = new Received(await unnamedFile());
      received.set(request, file);
      if (request.raw.socket.destroyed) await file.close();
      await file.receive(body);
      return new BatchFile(() => file.read(), format);
    });
}

/** Of such a file, nothing is left when the process ends. */
async function unnamedFile(): Promise<FileHandle> {
  const path = join(tmpdir(), `payouts-${randomUUID()}`);
  const file = await open(path, 'wx+', 0o600);
  await unlink(path);
  return file;
}

class Received {
  private readonly file: FileHandle;
  private bytes = 0;
  private isClosed = false;

  constructor(file: FileHandle) {
    this.file = file;
  }

  async receive(body: Readable): Promise<void> {
    this.requireOpen();
    for await (const part of body) {
      if (!Buffer.isBuffer(part)) throw new TypeError('a body consists of bytes');
      if (this.bytes + part.length > MAX_FILE_BYTES)
        throw new Problem('content-too-large', 'the file is too large');
      await this.file.write(part, 0, part.length, this.bytes);
      this.bytes += part.length;
    }
  }

  async read(): Promise<Buffer> {
    this.requireOpen();
    const { buffer } = await this.file.read(Buffer.alloc(this.bytes), 0, this.bytes, 0);
    return buffer;
  }

  private requireOpen(): void {
    if (this.isClosed) throw new CallerGoneError('the caller has disconnected');
  }

  async close(): Promise<void> {
    this.isClosed = true;
    await this.file.close();
  }
}
