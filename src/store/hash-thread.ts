import { Worker } from 'node:worker_threads';
import { algorithmOf, type Digest } from '../oci/digest.ts';

/**
 * Hashes files on a thread of its own, so that a copy goes on and requests are answered while a blob is read back.
 * The thread lives while there is something to do, and a little longer. Others come before it at the
 * processor (on Linux a priority is that of the thread): their flushes have to be scheduled as well.
 */
export interface HashThread {
  /** The hexadecimal digits of a file's hash, as `digest` needs it. Errors: those of reading. */
  hash(path: string, digest: Digest): Promise<string>;
}

const idleMs = 5_000;

/** As text, so that the program can be one file. */
const threadSource = `
const { parentPort } = require('node:worker_threads');
const { createHash } = require('node:crypto');
const { closeSync, openSync, readSync } = require('node:fs');
try {
  require('node:os').setPriority(0, 10);
} catch {}
const buffer = Buffer.allocUnsafe(1024 * 1024);
parentPort.on('message', ({ id, path, algorithm }) => {
  try {
    const fd = openSync(path, 'r');
    try {
      const hash = createHash(algorithm);
      for (let read = readSync(fd, buffer); read > 0; read = readSync(fd, buffer)) hash.update(buffer.subarray(0, read));
      parentPort.postMessage({ id, hex: hash.digest('hex') });
    } finally {
      closeSync(fd);
    }
  } catch (error) {
    parentPort.postMessage({ id, code: error.code, message: error.message });
  }
});
`;

interface Answer {
  readonly id: number;
  readonly hex?: string;
  readonly code?: string;
  readonly message?: string;
}

interface Waiting {
  resolve(hex: string): void;
  reject(error: unknown): void;
}

/**
 * Several such threads: each is begun only when those before it have something to do, so that one file at a time needs
 * one. What arrives faster than one core hashes is what makes a copy wait at its end.
 */
export function createHashThreads(count: number): HashThread {
  const threads = Array.from({ length: count }, () => createHashThread());
  return {
    hash(path, digest) {
      const least = threads.reduce((best, each) => (each.waiting() < best.waiting() ? each : best));
      return least.hash(path, digest);
    },
  };
}

function createHashThread(): HashThread & { waiting(): number } {
  const waiting = new Map<number, Waiting>();
  let thread: Worker | undefined;
  let idle: NodeJS.Timeout | undefined;
  let last = 0;

  function start(): Worker {
    const worker = new Worker(threadSource, { eval: true, execArgv: [] });
    worker.on('message', ({ id, hex, code, message }: Answer) => {
      const asked = waiting.get(id);
      waiting.delete(id);
      if (hex !== undefined) asked?.resolve(hex);
      else asked?.reject(Object.assign(new Error(message), { code }));
      if (waiting.size > 0) return;
      worker.unref();
      idle = setTimeout(() => void end(worker), idleMs);
      idle.unref();
    });
    worker.on('error', (error) => {
      thread = undefined;
      for (const asked of waiting.values()) asked.reject(error);
      waiting.clear();
    });
    return worker;
  }

  async function end(worker: Worker): Promise<void> {
    if (waiting.size > 0 || thread !== worker) return;
    thread = undefined;
    await worker.terminate();
  }

  return {
    waiting: () => waiting.size,
    hash(path, digest) {
      clearTimeout(idle);
      thread ??= start();
      thread.ref();
      last += 1;
      const { promise, resolve, reject } = Promise.withResolvers<string>();
      waiting.set(last, { resolve, reject });
      thread.postMessage({ id: last, path, algorithm: algorithmOf(digest) });
      return promise;
    },
  };
}
