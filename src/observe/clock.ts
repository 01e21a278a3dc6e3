/** Time as it is passed into everything that decides by it. */
export interface Clock {
  /** Milliseconds since the epoch, wall clock. */
  now(): number;
  /**
   * Milliseconds since this machine started, which only ever grow, evenly: for how long something takes or stands.
   * The wall clock may be set meanwhile. Comparable between processes of one boot.
   */
  monotonic(): number;
  /** Resolves after `ms` milliseconds, or at once when `signal` aborts. Never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** Longer than this a timer of the runtime fires at once instead. Milliseconds. */
const timerMsMax = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => Number(process.hrtime.bigint() / 1_000n) / 1_000,
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const done = () => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', done);
        resolve();
      };
      const endsAt = systemClock.monotonic() + ms;
      let timer: NodeJS.Timeout;
      const wait = (leftMs: number) => {
        timer = setTimeout(
          () => (leftMs > timerMsMax ? wait(endsAt - systemClock.monotonic()) : done()),
          Math.min(leftMs, timerMsMax),
        );
      };
      wait(ms);
      signal?.addEventListener('abort', done, { once: true });
    }),
};

/** Seconds since the epoch of a time in RFC 3339; undefined where there is none, or none that can be read. */
export function unixSeconds(time: string | undefined): number | undefined {
  const ms = Date.parse(time ?? '');
  return Number.isNaN(ms) ? undefined : ms / 1000;
}

/** RFC 3339 in seconds, as Kubernetes writes times. */
export function rfc3339(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}
