import { appendFileSync } from 'node:fs';

/**
 * A named place where a crash must lose nothing. A no-op, unless the environment says otherwise:
 * `SLUICE_FAULT=<name>[:<n>]` kills the process at the n-th passage (default 1) as `kill -9` would, and
 * `SLUICE_FAULT_LOG=<file>` records every passage, so that a test knows how many there are to sweep.
 */
export function faultPoint(name: string): void {
  if (log !== undefined) appendFileSync(log, `${name}\n`);
  if (armed === undefined) return;
  const [wanted, nth = '1'] = armed.split(':');
  if (wanted !== name && wanted !== '*') return;
  passages += 1;
  if (passages >= Number(nth)) process.kill(process.pid, 'SIGKILL');
}

// Read once: asking the environment costs as much as copying some kilobytes.
const { SLUICE_FAULT: armed, SLUICE_FAULT_LOG: log } = process.env;
let passages = 0;
