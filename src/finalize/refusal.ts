import { SluiceError } from '../errors/error.ts';
import type { RunResult } from '../process/run.ts';
import type { OrderOutcome } from './driver.ts';

/** The program lost whom it talked to, or was ended itself: what it had asked for may be under way. */
const lostForms =
  /NoReply|Disconnected|[Bb]us owner changed|[Tt]imeout was reached|[Cc]onnection (is )?closed/;
const blockedForms =
  /inhibit|[Tt]ransaction in progress|[Aa]ccess ?[Dd]enied|[Uu]pdates and deployments are driven by|update driver/;
const conflictForms = /Expected staged base checksum|not staged|No deployments found|wrong osname/i;

/**
 * What a program of the operating system said when it failed, as an error that tells whether to try again: Blocked
 * where something holds it for now, Conflict where another deployment is staged, else CommandFailed.
 */
export function refusal(program: string, what: string, result: RunResult): SluiceError {
  const said = wordsOf(result);
  const message = `${program} ${what}: ${said}`;
  if (blockedForms.test(said)) return new SluiceError('Blocked', message);
  if (conflictForms.test(said)) return new SluiceError('Conflict', message);
  return new SluiceError('CommandFailed', message);
}

/**
 * How an order to reboot ended. A command that was killed, took too long or lost its connection has not refused: the
 * reboot may be under way. Errors: as `refusal`, where it was surely not taken.
 */
export function orderOutcome(program: string, what: string, result: RunResult): OrderOutcome {
  if (result.code === 0) return { kind: 'ordered' };
  const said = wordsOf(result);
  if (result.timedOut || result.code === null || lostForms.test(said)) {
    return { kind: 'unknown', message: `${program} ${what}: ${said}` };
  }
  throw refusal(program, what, result);
}

function wordsOf({ code, signal, stderr, stdout, timedOut }: RunResult): string {
  const said = (stderr.trim() || stdout.trim()).split('\n').slice(-3).join(' | ').slice(0, 500);
  if (timedOut) return 'took too long';
  return said || `ended with ${code ?? signal}`;
}
