import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildBundle } from '../src/build/bundle.ts';
import { verifyMedia } from '../src/bundle/medium.ts';
import { openMedia } from '../src/media/media.ts';
import { runOrThrow } from '../src/process/run.ts';
import { generateSigningKey, parseTrustedKey } from '../src/trust/keys.ts';
import { keep, median, say, timed } from './measure.ts';
import { makeBenchRelease } from './releases.ts';

// Building a bundle out of OCI layouts, verified and durable, beside what users would pick instead (skopeo into a
// layout, four at a time) and the physical limits: copying the same bytes to the disk, and hashing them on one core.
// Verifying, out of a directory, an ISO and a squashfs image, beside hashing.

const rounds = 3;
const mib = 1024 * 1024;
const shape = { images: 40, layersPerImage: 5, layerBytes: 2 * mib, changed: 0, generation: 1 };

const dir = await mkdtemp(join(process.env.BENCH_DIR ?? tmpdir(), 'sluice-bench-bundle-'));
try {
  const { privatePem, publicPem } = generateSigningKey();
  const keys = [parseTrustedKey('bench', publicPem)];
  const release = await makeBenchRelease({ ...shape, dir, version: '1.0.0', previous: [] });
  const layout = join(dir, 'images-1.0.0');
  const out = join(dir, 'out');
  for (const ending of ['dir', 'iso', 'squashfs']) {
    await buildBundle({
      ...release,
      privatePem,
      out: join(dir, ending === 'dir' ? 'media' : `media.${ending}`),
    });
  }
  const verify = async (path: string) => {
    const media = await openMedia(path);
    const report = await verifyMedia(media, keys);
    await media.close();
    if (report.bundles.some((each) => each.problems.length > 0)) throw new Error(`${path} is damaged`);
  };
  const skopeo = async () => {
    const names = [...release.images.keys()];
    const worker = async () => {
      for (let name = names.shift(); name !== undefined; name = names.shift()) {
        await runOrThrow('skopeo', [
          'copy',
          '-q',
          '--insecure-policy',
          `oci:${layout}:${name}`,
          `oci:${out}-${name}:1`,
        ]);
      }
    };
    await Promise.all([worker(), worker(), worker(), worker()]);
    await runOrThrow('sync', ['-f', dir]);
  };
  const works: Record<string, () => Promise<unknown>> = {
    'cp -r, sync': () => runOrThrow('sh', ['-c', `cp -r '${layout}' '${out}' && sync -f '${dir}'`]),
    sha256sum: () => runOrThrow('sh', ['-c', `find '${layout}' -type f -print0 | xargs -0 cat | sha256sum`]),
    'skopeo copy × 4': skopeo,
    'bundle build': () => buildBundle({ ...release, privatePem, out }),
    'verify directory': () => verify(join(dir, 'media')),
    'verify iso': () => verify(join(dir, 'media.iso')),
    'verify squashfs': () => verify(join(dir, 'media.squashfs')),
  };
  const times = new Map<string, number[]>(Object.keys(works).map((name) => [name, []]));
  for (let round = 0; round < rounds; round += 1) {
    for (const [name, work] of Object.entries(works)) {
      times.get(name)?.push(await timed(work));
      await runOrThrow('sh', ['-c', `rm -rf '${out}' '${out}'-*`]);
    }
  }
  const total = (shape.images * shape.layersPerImage * shape.layerBytes) / mib;
  const medians = Object.fromEntries([...times].map(([name, each]) => [name, median(each) / 1000]));
  for (const [name, seconds] of Object.entries(medians)) {
    say(
      `${name.padEnd(18)} ${seconds.toFixed(2).padStart(7)} s ${(total / seconds).toFixed(0).padStart(6)} MiB/s`,
    );
  }
  const limit = Math.max(medians['cp -r, sync'] ?? 0, medians.sha256sum ?? 0);
  say(
    `bundle build / physical limit: ${((medians['bundle build'] ?? 0) / limit).toFixed(2)}; / skopeo: ${((medians['bundle build'] ?? 0) / (medians['skopeo copy × 4'] ?? 1)).toFixed(2)}`,
  );
  keep('bundle', { shape, rounds, mib: total, seconds: medians });
} finally {
  await rm(dir, { recursive: true, force: true });
}
