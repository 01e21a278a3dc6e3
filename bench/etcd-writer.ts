/**
 * Writes like etcd: 8 KiB appended and flushed every 10 ms, until SIGTERM. Then prints when each flush began
 * (milliseconds of the epoch) and how long it took.
 */
import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const everyMs = 10;
const block = Buffer.alloc(8 * 1024, 'e');
const file = openSync(process.argv[2] ?? '', 'a');
const flushes: [number, number][] = [];
let going = true;
process.once('SIGTERM', () => {
  going = false;
});
while (going) {
  const at = Date.now();
  const began = performance.now();
  writeSync(file, block);
  fdatasyncSync(file);
  const took = performance.now() - began;
  flushes.push([at, took]);
  await sleep(Math.max(1, everyMs - took));
}
closeSync(file);
process.stdout.write(JSON.stringify(flushes));
