/**
 * Media → one node's store, verified and durable (`sluice release preload`), beside what is physically possible on
 * this machine (`cp -r` and `sync`; one core's SHA-256 of the same bytes, by the same code that the product hashes with)
 * and beside skopeo into docker-registry, four images at a time. Interleaved runs, medians, the cache warm for all;
 * what one left unwritten is written before the next begins. `--mib N`, `--images N`, `--runs N`.
 */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { makeRelease, testKey } from '../tests/bundles.ts';
import { repository } from '../tests/tier.ts';
import { startDockerRegistry } from './docker-registry.ts';
import { cpuSeconds, keep, median, say, timed } from './measure.ts';

const { values: options } = parseArgs({
  options: {
    mib: { type: 'string', default: '1600' },
    images: { type: 'string', default: '60' },
    runs: { type: 'string', default: '3' },
  },
});
const count = Number(options.images);
const runs = Number(options.runs);

/** Hashes files as fast as one core can: what `sha256sum` does, which many systems build without the CPU's own code. */
const hashProgram = `
const { createHash } = require('node:crypto');
const { openSync, readSync, closeSync } = require('node:fs');
const buffer = Buffer.allocUnsafeSlow(1024 * 1024);
for (const path of process.argv.slice(1)) {
  const [file, hash] = [openSync(path), createHash('sha256')];
  for (let read = readSync(file, buffer); read > 0; read = readSync(file, buffer)) hash.update(buffer.subarray(0, read));
  hash.digest();
  closeSync(file);
}`;

/** Runs a program to its end. Answers the highest resident memory and the most seconds of CPU that were seen. */
async function run(program: string, args: readonly string[]): Promise<{ peak: number; cpu: number }> {
  const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  let errors = '';
  child.stderr.on('data', (chunk: Buffer) => {
    errors += chunk.toString();
  });
  let peak = 0;
  let cpu = 0;
  const watch = setInterval(() => {
    try {
      cpu = Math.max(cpu, cpuSeconds(child.pid ?? 0));
      const status = readFileSync(`/proc/${child.pid}/status`, 'latin1');
      peak = Math.max(peak, Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024);
    } catch {
      // It has ended.
    }
  }, 20);
  const code = await new Promise((resolve) => child.on('close', resolve));
  clearInterval(watch);
  if (code !== 0) throw new Error(`${program} ${args.join(' ')}: ${errors}`);
  return { peak, cpu };
}

const dir = mkdtempSync(join(tmpdir(), 'sluice-import-'));
try {
  const key = testKey();
  writeFileSync(join(dir, 'key.pub'), key.pair.publicPem);
  const bytes = Math.floor((Number(options.mib) * 1024 * 1024) / count);
  const images = Object.fromEntries(
    Array.from({ length: count }, (_, at) => [
      `image-${at}`,
      { files: [{ path: '/more', data: randomBytes(bytes) }] },
    ]),
  );
  const release = await makeRelease({ version: '1.0.0', dir, key: key.pair, images });
  const media = release.path;
  const times: Record<string, number[]> = { sluice: [], cp: [], sha256: [], skopeo: [] };
  const peaks: number[] = [];
  const cpu: Record<'sluice' | 'sha256' | 'skopeo', number[]> = { sluice: [], sha256: [], skopeo: [] };
  const fresh = (name: string) => {
    const path = join(dir, name);
    rmSync(path, { recursive: true, force: true });
    mkdirSync(path);
    return path;
  };
  const sync = () => run('sync', ['-f', dir]);
  for (let turn = 0; turn < runs; turn += 1) {
    const store = fresh('store');
    await sync();
    times.sluice?.push(
      await timed(async () => {
        const args = ['release', 'preload', media, '--root', store, '--key', join(dir, 'key.pub')];
        const used = await run(join(repository, 'sluice'), args);
        peaks.push(used.peak);
        cpu.sluice.push(used.cpu);
      }),
    );
    const copy = fresh('copy');
    await sync();
    times.cp?.push(
      await timed(async () => {
        await run('cp', ['-r', media, copy]);
        await sync();
      }),
    );
    times.sha256?.push(
      await timed(async () => {
        const data = await readdir(media, { recursive: true, withFileTypes: true });
        const files = data.filter((each) => each.isFile() && each.name === 'data');
        const paths = files.map((each) => join(each.parentPath, each.name));
        cpu.sha256.push((await run(process.execPath, ['-e', hashProgram, ...paths])).cpu);
      }),
    );
    const registry = await startDockerRegistry(fresh('registry'));
    const sources = [...release.sources];
    await sync();
    let spent = 0;
    times.skopeo?.push(
      await timed(async () => {
        const worker = async () => {
          for (let next = sources.pop(); next !== undefined; next = sources.pop()) {
            const [tag, source] = next;
            const used = await run('skopeo', [
              'copy',
              '--insecure-policy',
              '--dest-tls-verify=false',
              source,
              `docker://${registry.host}/bench/${tag}:v`,
            ]);
            spent += used.cpu;
          }
        };
        await Promise.all(Array.from({ length: 4 }, worker));
      }),
    );
    cpu.skopeo.push(spent + cpuSeconds(registry.pid));
    await registry.close();
  }
  const of = (name: string) => median(times[name] ?? []);
  const limit = Math.max(of('cp'), of('sha256'));
  const seconds = (ms: number) => `${(ms / 1000).toFixed(2)} s`;
  say(`${options.mib} MiB in ${count} images, ${runs} runs, cache warm`);
  for (const name of Object.keys(times)) say(`${name.padEnd(8)} ${seconds(of(name))}`);
  say(`sluice / max(cp+sync, sha256)  ${(of('sluice') / limit).toFixed(2)}   (goal: <= 1.25)`);
  say(`sluice / skopeo                ${(of('sluice') / of('skopeo')).toFixed(2)}   (goal: <= 0.45)`);
  say(
    `CPU: sluice ${median(cpu.sluice).toFixed(1)} s, SHA-256 ${median(cpu.sha256).toFixed(1)} s, skopeo and registry ${median(cpu.skopeo).toFixed(1)} s; on a busy machine times follow it`,
  );
  say(`peak memory, MiB               ${Math.max(...peaks).toFixed(0)}   (goal: <= 180)`);
  keep('import', {
    mib: Number(options.mib),
    images: count,
    runs,
    milliseconds: times,
    cpuSeconds: cpu,
    peakMiB: Math.max(...peaks),
  });
} finally {
  rmSync(dir, { recursive: true, force: true });
}
process.exit(0);
