import { createHash, randomBytes } from 'node:crypto';
import type { Clock } from '../observe/clock.ts';

/** Codes of one-time links, each good for one login. */
export interface OneTimeCodes {
  create(): string;
  /** Whether the code was good; it is not any more. */
  redeem(code: string): boolean;
}

const codeMs = 3_600_000;
const codesMax = 100;

export function createOneTimeCodes(clock: Clock): OneTimeCodes {
  // Only hashes are kept, so that a look into the memory gives nobody a way in, and a lookup tells nothing by its time.
  const open = new Map<string, number>();
  const hashOf = (code: string) => createHash('sha256').update(code).digest('base64url');
  return {
    create() {
      const [oldest] = open.keys();
      if (open.size >= codesMax && oldest !== undefined) open.delete(oldest);
      const code = randomBytes(24).toString('base64url');
      open.set(hashOf(code), clock.monotonic() + codeMs);
      return code;
    },
    redeem(code) {
      const hash = hashOf(code);
      const endsAt = open.get(hash);
      open.delete(hash);
      return endsAt !== undefined && endsAt > clock.monotonic();
    },
  };
}
