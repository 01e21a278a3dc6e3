import { writeSync } from 'node:fs';
import { systemCode } from '../errors/error.ts';

export type Logger = {
  debug(facts: object, message: string): void;
  info(facts: object, message: string): void;
  warn(facts: object, message: string): void;
  error(facts: object, message: string): void;
  child(facts: object): Logger;
};

/** From the least to what is never reached: `silent` as a threshold says nothing. */
const levels = ['debug', 'info', 'warn', 'error', 'silent'] as const;
type Level = (typeof levels)[number];

/** Bytes that wait while standard error takes none, a file on a full disk for instance; more are dropped. */
const waitingBytesMax = 1024 * 1024;
const retryMs = 100;

/**
 * A logger of JSON lines on standard error: constant messages, facts as keys. Level from `SLUICE_LOG`
 * (debug, info, warn, error, silent), default info. Written synchronously, so that a killed process has said
 * what it did.
 */
export function createLogger(component: string): Logger {
  const asked = (levels as readonly string[]).indexOf(process.env.SLUICE_LOG ?? 'info');
  return loggerOf({ component }, asked < 0 ? levels.indexOf('info') : asked);
}

function loggerOf(base: object, threshold: number): Logger {
  const at = (level: Level) => {
    if (levels.indexOf(level) < threshold) return () => {};
    return (facts: object, message: string) =>
      standardError.write(lineOf(level, { ...base, ...facts }, message));
  };
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: (facts) => loggerOf({ ...base, ...facts }, threshold),
  };
}

function lineOf(level: Level, facts: object, message: string): string {
  const head = { level, time: new Date().toISOString() };
  try {
    return `${JSON.stringify({ ...head, ...facts, msg: message })}\n`;
  } catch (error) {
    // A fact that is no JSON (a circle, a BigInt) is a mistake of ours, and no reason to lose the message.
    return `${JSON.stringify({ ...head, unprintable: String(error), msg: message })}\n`;
  }
}

/** Standard error is written to in order, and what it does not take now it is given again. */
const standardError = {
  waiting: Buffer.alloc(0),
  timer: undefined as NodeJS.Timeout | undefined,

  write(line: string): void {
    const bytes = Buffer.from(line);
    if (this.waiting.length + bytes.length > waitingBytesMax) return;
    this.waiting = this.waiting.length === 0 ? bytes : Buffer.concat([this.waiting, bytes]);
    if (this.timer === undefined) this.flush();
  },

  flush(): void {
    this.timer = undefined;
    try {
      while (this.waiting.length > 0) this.waiting = this.waiting.subarray(writeSync(2, this.waiting));
    } catch (error) {
      // A reader that is slow will be ready. A full disk or a reader that has gone must not end a process that could
      // go on without its words, nor keep one alive.
      this.timer = setTimeout(() => this.flush(), retryMs);
      if (systemCode(error) !== 'EAGAIN') this.timer.unref();
    }
  },
};

/** A logger that keeps silent, for tests and for commands that print on their own. */
export const silentLogger: Logger = {
  debug() {},
  info() {},
  warn() {},
  error() {},
  child: () => silentLogger,
};
