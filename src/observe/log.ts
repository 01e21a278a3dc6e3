import { pino } from 'pino';

export type Logger = {
  debug(facts: object, message: string): void;
  info(facts: object, message: string): void;
  warn(facts: object, message: string): void;
  error(facts: object, message: string): void;
  child(facts: object): Logger;
};

/** Bytes that wait while standard error takes none, a file on a full disk for instance; more are dropped. */
const waitingBytesMax = 1024 * 1024;

/**
 * A logger of JSON lines on standard error: constant messages, facts as keys. Level from `SLUICE_LOG`
 * (debug, info, warn, error, silent), default info. Written synchronously, so that a killed process has said
 * what it did.
 */
export function createLogger(component: string): Logger {
  const destination = pino.destination({ dest: 2, sync: true, maxLength: waitingBytesMax });
  // A full disk behind standard error must not end a process that could go on without its words.
  destination.on('error', () => {});
  return pino(
    {
      level: process.env.SLUICE_LOG ?? 'info',
      base: { component },
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
    },
    destination,
  );
}

/** A logger that keeps silent, for tests and for commands that print on their own. */
export const silentLogger: Logger = {
  debug() {},
  info() {},
  warn() {},
  error() {},
  child: () => silentLogger,
};
