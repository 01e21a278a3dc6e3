import { SluiceError } from '../errors/error.ts';
import type { RunResult } from '../process/run.ts';
import type { OrderOutcome } from './driver.ts';

/** The program lost whom it talked to, or was ended itself: what it had asked for may be under way. */
const lostForms =
  /NoReply|Disconnected|[Bb]us owner changed|[Tt]imeout was reached|[Cc]onnection (is )?closed|Reboot initiated/;
const blockedForms =
  /inhibit|[Tt]ransaction in progress|[Aa]ccess ?[Dd]enied|[Uu]pdates and deployments are driven by|update driver/;
const conflictForms =
  /Expected staged base checksum|[Nn]o (pending )?staged deployment|No deployments found|is not for osname/;

/**
 * What a program of the operating system said when it failed, as an error that tells whether to try again: Blocked
 * where something holds it for now, Conflict where another deployment is staged, else CommandFailed.
 */
export function refusal(program: string, what: string, result: RunResult): SluiceError {
  const said = wordsOf(result);
  const message = `${program} ${what}: ${said.all}`;
  if (blockedForms.test(said.headline)) return new SluiceError('Blocked', message);
  if (conflictForms.test(said.headline)) return new SluiceError('Conflict', message);
  return new SluiceError('CommandFailed', message);
}

/**
 * How an order to reboot ended. A command that was killed, took too long or lost its connection has not refused: the
 * reboot may be under way. Errors: as `refusal`, where it was surely not taken.
 */
export function orderOutcome(program: string, what: string, result: RunResult): OrderOutcome {
  if (result.code === 0) return { kind: 'ordered' };
  const said = wordsOf(result);
  if (result.timedOut || result.code === null || lostForms.test(said.headline)) {
    return { kind: 'unknown', message: `${program} ${what}: ${said.all}` };
  }
  throw refusal(program, what, result);
}

const linesMax = 6;
const charsMax = 500;

/**
 * What is decided by is the program's own line: rpm-ostree goes on with the words of whoever holds an inhibitor, and
 * they may be any; a progress before it says nothing of the end.
 */
function wordsOf({ code, signal, stderr, stdout, timedOut }: RunResult): {
  readonly headline: string;
  readonly all: string;
} {
  if (timedOut) return { headline: '', all: 'took too long' };
  const lines = (stderr.trim() || stdout.trim()).split('\n');
  const at = lines.findIndex((line) => /^error: /i.test(line));
  const [headline = '', ...rest] = at === -1 ? lines.slice(-1) : lines.slice(at, at + linesMax);
  const before = at === -1 ? lines.slice(-3, -1) : [];
  const all = [...before, headline, ...rest].join(' | ').slice(0, charsMax);
  return { headline, all: all || `ended with ${code ?? signal}` };
}
