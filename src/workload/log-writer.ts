import { closeSync, mkdirSync, openSync, renameSync, statSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';

export type LogStream = 'stdout' | 'stderr';

/** A line longer than this is written in pieces, as the runtimes of Kubernetes do. */
const pieceBytesMax = 16 * 1024;

/**
 * Writes what a container says in the log format of the container runtime interface:
 * `<RFC 3339 time> <stream> <P|F> <text>`; P marks text that its line goes on after.
 * Past `bytesMax` the file becomes `<path>.1` and a new one begins, so that at most twice that is kept.
 */
export class LogWriter {
  readonly #path: string;
  readonly #bytesMax: number;
  readonly #now: () => number;
  readonly #rest: Record<LogStream, Buffer> = { stdout: Buffer.alloc(0), stderr: Buffer.alloc(0) };
  #file: number;
  #size: number;

  constructor(path: string, bytesMax: number, now: () => number = Date.now) {
    mkdirSync(dirname(path), { recursive: true });
    this.#path = path;
    this.#bytesMax = bytesMax;
    this.#now = now;
    this.#file = openSync(path, 'a', 0o640);
    this.#size = statSync(path).size;
  }

  /** Takes a chunk of one stream; whole lines are on the disk when it returns. */
  write(stream: LogStream, chunk: Buffer): void {
    let data = Buffer.concat([this.#rest[stream], chunk]);
    const lines: Buffer[] = [];
    for (;;) {
      const end = data.indexOf(0x0a);
      const whole = end >= 0 && end <= pieceBytesMax;
      if (!whole && data.length < pieceBytesMax) break;
      const length = whole ? end : pieceBytesMax;
      lines.push(this.#entry(stream, whole ? 'F' : 'P', data.subarray(0, length)));
      data = data.subarray(whole ? length + 1 : length);
    }
    this.#rest[stream] = data;
    if (lines.length > 0) this.#append(Buffer.concat(lines));
  }

  /** Writes what the streams left without a last newline. */
  close(): void {
    for (const stream of ['stdout', 'stderr'] as const) {
      if (this.#rest[stream].length > 0) this.#append(this.#entry(stream, 'P', this.#rest[stream]));
      this.#rest[stream] = Buffer.alloc(0);
    }
    closeSync(this.#file);
  }

  #entry(stream: LogStream, tag: 'F' | 'P', text: Buffer): Buffer {
    const head = `${new Date(this.#now()).toISOString()} ${stream} ${tag} `;
    return Buffer.concat([Buffer.from(head), text, Buffer.from('\n')]);
  }

  #append(bytes: Buffer): void {
    if (this.#size > 0 && this.#size + bytes.length > this.#bytesMax) {
      closeSync(this.#file);
      renameSync(this.#path, `${this.#path}.1`);
      this.#file = openSync(this.#path, 'w', 0o640);
      this.#size = 0;
    }
    this.#size += writeSync(this.#file, bytes);
  }
}
