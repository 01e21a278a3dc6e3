/**
 * A copy that is killed (-9) when nine tenths of it are done, and the one that goes on: how much of the bundle the
 * second reads from the medium. `--mib N` of the bundle, `--images N`, `--runs N`.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { preload } from '../src/copy/preload.ts';
import { openMedia } from '../src/media/media.ts';
import { parseTrustedKey } from '../src/trust/keys.ts';
import { keep, median, say } from './measure.ts';
import { type Medium, makeMedium } from './medium.ts';
import { bigRelease, bundleBytes, publicKey } from './node-copies.ts';

const { values: options } = parseArgs({
  options: {
    mib: { type: 'string', default: '800' },
    images: { type: 'string', default: '40' },
    runs: { type: 'string', default: '3' },
    copy: { type: 'string' },
    store: { type: 'string', default: '' },
    name: { type: 'string', default: '' },
  },
});
const killAt = 0.9;

/** In a process of its own, so that it can be killed: says how far it is, a line each time. */
async function copy(media: string): Promise<void> {
  const opened = await openMedia(media);
  await preload(opened.content, options.name, options.store, {
    keys: [parseTrustedKey('key', process.env.BENCH_KEY ?? '')],
    onProgress: ({ phase, bytesDone, bytesTotal }) => {
      if (phase !== 'Verifying') process.stdout.write(`${bytesDone / bytesTotal}\n`);
    },
  });
}

/** Bytes that the medium gave until the copy ended, or had done `until` of its work and was killed. */
async function run(medium: Medium, name: string, store: string, until: number): Promise<number> {
  medium.remount();
  const before = medium.bytesRead();
  const words = ['--copy', medium.path, '--name', name, '--store', store];
  const child: ChildProcess = spawn(process.execPath, [...process.execArgv, import.meta.filename, ...words], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, BENCH_KEY: publicKey },
  });
  const ended = new Promise<void>((resolve) => child.on('close', () => resolve()));
  if (child.stdout === null) throw new Error('no output');
  for await (const line of createInterface({ input: child.stdout })) {
    if (until === 1 || Number(line) < until) continue;
    child.kill('SIGKILL');
    break;
  }
  await ended;
  if (until === 1 && child.exitCode !== 0) throw new Error(`the copy ended with ${child.exitCode}`);
  return medium.bytesRead() - before;
}

if (options.copy !== undefined) {
  await copy(options.copy);
  process.exit(0);
}
const dir = mkdtempSync(join(process.env.BENCH_DIR ?? tmpdir(), 'sluice-resume-'));
try {
  const release = await bigRelease(dir, Number(options.mib), Number(options.images));
  const bytes = bundleBytes(release);
  const medium = makeMedium({ dir, content: release.path, mib: bytes / 1024 ** 2 });
  const runs: { readonly first: number; readonly second: number }[] = [];
  try {
    for (let turn = 0; turn < Number(options.runs); turn += 1) {
      const store = join(dir, `store-${turn}`);
      const first = await run(medium, release.name, store, killAt);
      const second = await run(medium, release.name, store, 1);
      runs.push({ first, second });
      rmSync(store, { recursive: true, force: true });
    }
  } finally {
    medium.close();
  }
  const share = (of: 'first' | 'second') => (100 * median(runs.map((each) => each[of]))) / bytes;
  say(
    `${(bytes / 1024 ** 2).toFixed(0)} MiB in ${options.images} images, killed at 90 %, ${options.runs} runs`,
  );
  say(`read from the medium until it was killed   ${share('first').toFixed(1)} %`);
  say(`read by the copy that went on              ${share('second').toFixed(1)} %   (goal: <= 12)`);
  keep('resume', { bytes, runs });
} finally {
  rmSync(dir, { recursive: true, force: true });
}
process.exit(0);
