import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { sep } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** A disk that gives only so many bytes a second to all who read from it, and counts them. */
export interface SlowMedium {
  bytesRead(): number;
}

const original = fs.promises.open;

/**
 * From now on whatever this process reads below a directory goes through one bucket of `bytesPerSecond`, whoever
 * reads: a copy, a registry that serves peers from the medium. There is no device to be had that is slow by itself.
 */
export function slowMedium(directory: string, bytesPerSecond: number): SlowMedium {
  let read = 0;
  let freeAt = 0;
  const below = `${directory}${sep}`;
  fs.promises.open = async (path, ...rest) => {
    const handle = await original(path, ...rest);
    // A tree opens by way of /proc/self/fd: what counts is where the file lies.
    if (!fs.readlinkSync(`/proc/self/fd/${handle.fd}`).startsWith(below)) return handle;
    const plain = handle.read.bind(handle) as (...args: unknown[]) => Promise<{ bytesRead: number }>;
    const limited = async (...args: unknown[]) => {
      const answer = await plain(...args);
      read += answer.bytesRead;
      const now = performance.now();
      freeAt = Math.max(now, freeAt) + (answer.bytesRead / bytesPerSecond) * 1000;
      await sleep(freeAt - now);
      return answer;
    };
    Object.assign(handle, { read: limited });
    return handle;
  };
  syncBuiltinESMExports();
  return { bytesRead: () => read };
}
