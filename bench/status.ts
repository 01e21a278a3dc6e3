/**
 * Writes to the API while three nodes copy a release from one medium of 40 MiB/s: how many there are of each node's
 * objects in five seconds, from the wish until every node holds it. `--mib N` of the bundle, `--images N`.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { keep, say } from './measure.ts';
import { bigRelease, copyToNodes, smallRelease } from './node-copies.ts';

const { values: options } = parseArgs({
  options: { mib: { type: 'string', default: '1600' }, images: { type: 'string', default: '40' } },
});
const dir = mkdtempSync(join(process.env.BENCH_DIR ?? tmpdir(), 'sluice-status-'));
try {
  const release = await bigRelease(dir, Number(options.mib), Number(options.images));
  const { seconds, writes } = await copyToNodes(
    { dir, installed: await smallRelease(dir), release },
    3,
    40 * 1024 * 1024,
  );
  const nodes = 3;
  const total = Object.values(writes).reduce((sum, each) => sum + each, 0);
  say(`${options.mib} MiB to three nodes in ${seconds.toFixed(0)} s`);
  for (const [what, count] of Object.entries(writes).sort()) say(`${what.padEnd(36)} ${count} writes`);
  const rate = (total / nodes / seconds) * 5;
  say(`writes for each node in 5 s   ${rate.toFixed(2)}   (goal: <= 1)`);
  keep('status', { mib: Number(options.mib), seconds, writes, perNodeIn5s: rate });
} finally {
  rmSync(dir, { recursive: true, force: true });
}
process.exit(0);
