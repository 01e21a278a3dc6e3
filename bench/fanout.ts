/**
 * One medium of 40 MiB/s at one node of a cluster: the time until one node, then three, hold the release verified, and
 * how often the medium was read for it. Nodes are processes of `sluice up`, the medium is a disk that the kernel holds to its rate. `--mib N` of the bundle, `--images N`, `--runs N`.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { keep, median, say } from './measure.ts';
import { bigRelease, bundleBytes, copyToNodes, type NodeCopies, smallRelease } from './node-copies.ts';

const { values: options } = parseArgs({
  options: {
    mib: { type: 'string', default: '400' },
    images: { type: 'string', default: '20' },
    runs: { type: 'string', default: '3' },
  },
});
const mediumBytesPerSecond = 40 * 1024 * 1024;
const dir = mkdtempSync(join(process.env.BENCH_DIR ?? tmpdir(), 'sluice-fanout-'));
try {
  const release = await bigRelease(dir, Number(options.mib), Number(options.images));
  const bytes = bundleBytes(release);
  const of = { dir, installed: await smallRelease(dir), release };
  const one: NodeCopies[] = [];
  const three: NodeCopies[] = [];
  for (let turn = 0; turn < Number(options.runs); turn += 1) {
    one.push(await copyToNodes(of, 1, mediumBytesPerSecond));
    three.push(await copyToNodes(of, 3, mediumBytesPerSecond));
  }
  const seconds = (of: NodeCopies[]) => median(of.map((each) => each.seconds));
  const reads = median(three.map((each) => each.mediumBytes)) / bytes;
  say(`${(bytes / 1024 ** 2).toFixed(0)} MiB, a medium of 40 MiB/s, ${options.runs} runs`);
  const cpu = (runs: NodeCopies[]) =>
    Object.keys(runs[0]?.cpuSeconds ?? {})
      .map((role) => `${role} ${median(runs.map((each) => each.cpuSeconds[role] ?? 0)).toFixed(1)}`)
      .join(', ');
  say(`one node      ${seconds(one).toFixed(1)} s; seconds of CPU: ${cpu(one)}`);
  say(`three nodes   ${seconds(three).toFixed(1)} s; seconds of CPU: ${cpu(three)}`);
  say(`three / one   ${(seconds(three) / seconds(one)).toFixed(2)}   (goal: <= 1.3)`);
  say(`read from the medium / bundle   ${reads.toFixed(2)}   (goal: <= 1.15)`);
  keep('fanout', { bytes, one, three });
} finally {
  rmSync(dir, { recursive: true, force: true });
}
process.exit(0);
