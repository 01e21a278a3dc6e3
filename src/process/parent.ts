/**
 * Ties this process to the one that started it: when the parent's end of standard input closes, because it was
 * killed for instance, this process ends as if by SIGTERM. For children of `sluice up`, which must leave nothing
 * behind. A no-op unless the parent asked for it with `SLUICE_FOLLOW_PARENT=1`.
 */
export function followParent(): void {
  if (process.env.SLUICE_FOLLOW_PARENT !== '1') return;
  process.stdin.on('error', () => {});
  process.stdin.on('end', () => process.kill(process.pid, 'SIGTERM'));
  process.stdin.resume();
  process.stdin.unref?.();
}

/**
 * An AbortSignal that SIGTERM and SIGINT trigger once, with the name as the message of its reason; a second one ends
 * the process at once.
 *
 * @param atSecond called before that, to say what is left.
 */
export function terminationSignal(atSecond?: () => void): AbortSignal {
  const controller = new AbortController();
  for (const name of ['SIGTERM', 'SIGINT'] as const) {
    process.on(name, () => {
      if (controller.signal.aborted) {
        atSecond?.();
        process.exit(name === 'SIGINT' ? 130 : 143);
      }
      controller.abort(new DOMException(name, 'AbortError'));
    });
  }
  return controller.signal;
}

/** Milliseconds that a process has for ending by itself. */
const endingMs = 2_000;

/** Ends a service whose work is over, also where a part of it does not end: only then it is started again. */
export function endSoon(): void {
  setTimeout(() => process.exit(), endingMs).unref();
}
