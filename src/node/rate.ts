import type { Clock } from '../observe/clock.ts';

export interface RateMeter {
  /** @param bytes so far; a new `phase` counts anew. */
  note(bytes: number, phase: string): void;
  /** Over the last few seconds; undefined until there is something to compare, and where nothing has moved since. */
  bytesPerSecond(): number | undefined;
}

const windowMs = 5_000;
const sampleMs = 250;
/** Without a byte for so long, what was measured before is no rate of now. */
const stillMs = 10_000;

/** Measures what moves now, not the average since the beginning: a stalled copy shows at once. */
export function createRateMeter(clock: Clock): RateMeter {
  let samples: { at: number; bytes: number }[] = [];
  let current = '';
  return {
    note(bytes, phase) {
      const at = clock.now();
      if (phase !== current) {
        samples = [];
        current = phase;
      }
      const last = samples.at(-1);
      if (last !== undefined && at - last.at < sampleMs) return;
      samples.push({ at, bytes });
      while (samples.length > 2 && at - (samples[0]?.at ?? at) > windowMs) samples.shift();
    },
    bytesPerSecond() {
      const [first] = samples;
      const last = samples.at(-1);
      if (first === undefined || last === undefined || last.at === first.at) return undefined;
      if (clock.now() - last.at > stillMs) return undefined;
      return Math.round(((last.bytes - first.bytes) / (last.at - first.at)) * 1000);
    },
  };
}
