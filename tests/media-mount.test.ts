import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { copyFile, cp, mkdir, open, readdir, rm, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { after, before, test } from 'node:test';
import { run, runOrThrow } from '../src/process/run.ts';
import type { TestRelease } from './bundles.ts';
import { type ContentPlane, startContentPlane } from './content-plane.ts';
import { type LoopDisk, loopDisk } from './loop.ts';
import { needs } from './tier.ts';

const mib = 1024 * 1024;
/** As small as each takes it. */
const bytes = { ext4: 32 * mib, xfs: 304 * mib, btrfs: 128 * mib } as const;
const ours = '/run/sluice/media';
let plane: ContentPlane;
let one: TestRelease;

before(async () => {
  if (needs('loop').skip !== undefined) return;
  plane = await startContentPlane(1);
  one = await plane.release('1.0.0');
  for (const node of plane.nodes) await plane.startManager(node);
  await plane.setCurrent(one);
});

after(() => plane?.close());

const media = (...args: string[]) => plane.sluice('media', ...args);

async function disk(
  t: { after(work: () => Promise<void>): void },
  type: 'ext4' | 'xfs' | 'btrfs',
): Promise<LoopDisk> {
  const made = await loopDisk(join(plane.dir, `${type}.img`), { type, bytes: bytes[type] }, (root) =>
    cp(one.path, root, { recursive: true }),
  );
  t.after(async () => {
    await run('umount', ['--lazy', join(ours, basename(made.device))]);
    await made.close();
    await rm(made.image);
  });
  return made;
}

async function hashOf(path: string): Promise<string> {
  return (await runOrThrow('sha256sum', [path])).stdout.split(' ', 1)[0] ?? '';
}

for (const type of ['ext4', 'xfs', 'btrfs'] as const) {
  test(
    `I12 a disk with ${type} is mounted so that nothing on it can run or change, and let go again`,
    needs('loop', `mkfs.${type}`),
    async (t) => {
      const { device, image } = await disk(t, type);
      const before = await hashOf(image);
      const attached = await media('attach', '--mount', device);
      assert.equal(attached.code, 0, attached.all);
      assert.match(attached.stderr, new RegExp(`verified ${one.name}`));
      const place = join(ours, basename(device));
      const options = (await runOrThrow('findmnt', ['-n', '-o', 'OPTIONS', place])).stdout.trim().split(',');
      const wanted = ['ro', 'nosuid', 'nodev', 'noexec'];
      const journal = { ext4: 'noload', xfs: 'norecovery', btrfs: 'rescue=nologreplay' }[type];
      for (const option of wanted) assert.ok(options.includes(option), `${option} of ${options}`);
      // The kernel spells these in its own way, where it shows them.
      const shown = options.some((each) => each === journal || /norecovery|nologreplay/.test(each));
      assert.ok(shown, `${journal} of ${options}`);
      const again = await media('attach', '--mount', device);
      assert.equal(again.code, 0, again.all);
      const detached = await media('detach', device);
      assert.equal(detached.code, 0, detached.all);
      assert.ok(!existsSync(place), 'nothing is left of it');
      assert.equal(await hashOf(image), before, 'no byte of the disk has changed');
    },
  );
}

test('I12 a journal that was not written out is not replayed', needs('loop', 'mkfs.ext4'), async (t) => {
  const { device, image } = await disk(t, 'ext4');
  const root = join(plane.dir, 'dirty');
  await mkdir(root);
  await runOrThrow('mount', [device, root]);
  await cp(join(one.path, 'sluice-media.json'), join(root, 'more.json'));
  await runOrThrow('sync', ['-f', root]);
  // What a stick looks like that was pulled without being unmounted.
  const pulled = join(plane.dir, 'pulled.img');
  await copyFile(image, pulled);
  await runOrThrow('umount', [root]);
  const loop = (await runOrThrow('losetup', ['--find', '--show', pulled])).stdout.trim();
  t.after(async () => {
    await run('losetup', ['--detach', loop]);
  });
  const probed = await run('dumpe2fs', ['-h', loop]);
  assert.match(probed.stdout, /needs_recovery/);
  const before = await hashOf(pulled);
  const attached = await media('attach', '--mount', loop);
  assert.equal(attached.code, 0, attached.all);
  assert.equal((await media('detach', loop)).code, 0);
  assert.equal(await hashOf(pulled), before);
});

test('disks that are in use, and the host’s own, are refused', needs('loop', 'mkfs.ext4'), async (t) => {
  const { device } = await disk(t, 'ext4');
  const elsewhere = join(plane.dir, 'elsewhere');
  await mkdir(elsewhere);
  await runOrThrow('mount', ['-o', 'ro', device, elsewhere]);
  const mounted = await media('attach', '--mount', device);
  assert.match(mounted.all, new RegExp(`${device} is in use already, at ${elsewhere}`));
  assert.equal(mounted.code, 1);
  await runOrThrow('umount', [elsewhere]);
  const claim = await open(device, 0o200);
  const claimed = await media('attach', '--mount', device);
  await claim.close();
  assert.match(claimed.all, /is in use by the kernel or by a program/);
  assert.match((await media('attach', '--mount', '/dev/null')).all, /is no block device/);
  const { stdout } = await runOrThrow('lsblk', [
    '--json',
    '--nodeps',
    '--output',
    'PATH,RM,HOTPLUG,TYPE,SIZE',
    '--bytes',
  ]);
  const { blockdevices } = JSON.parse(stdout) as {
    blockdevices: { path: string; rm: boolean; hotplug: boolean; type: string; size: number }[];
  };
  const fixed = blockdevices.find(
    (each) => each.type === 'disk' && !each.rm && !each.hotplug && each.size > 0,
  );
  if (fixed === undefined) t.diagnostic('this host has no fixed disk to try');
  else
    assert.match((await media('attach', '--mount', fixed.path)).all, /neither removable nor virtual|in use/);
  assert.deepEqual(await readdir(ours).catch(() => []), [], 'no mount and no directory is left');
});

test(
  'I6 what a pulled disk or a killed attach left is cleared away, and does not stand in the way',
  needs('loop', 'mkfs.ext4'),
  async (t) => {
    const { device } = await disk(t, 'ext4');
    // Under a name of its own, which can vanish as that of a pulled stick does.
    const stick = join(plane.dir, 'stick');
    const { rdev } = await stat(device);
    await runOrThrow('mknod', [stick, 'b', String((rdev >> 8) & 0xfff), String(rdev & 0xff)]);
    const attached = await media('attach', '--mount', stick);
    assert.equal(attached.code, 0, attached.all);
    const place = join(ours, 'stick');
    await rm(stick);
    assert.equal((await media('detach', place)).code, 0);
    assert.ok(!existsSync(place));

    // Killed between mount and attach: the mount stands, and nobody has it.
    const left = join(ours, basename(device));
    await mkdir(left, { recursive: true });
    await runOrThrow('mount', ['-o', 'ro,nosuid,nodev,noexec,noload', device, left]);
    assert.equal((await media('attach', '--mount', device)).code, 0);
    assert.equal((await media('detach', one.name)).code, 0);
    assert.ok(!existsSync(left));
    // An empty directory that a crash left.
    await mkdir(join(ours, 'gone'), { recursive: true });
    assert.equal((await media('attach', '--mount', device)).code, 0);
    assert.ok(!existsSync(join(ours, 'gone')));
    assert.equal((await media('detach', device)).code, 0);
  },
);

test('what the node does not take is not left mounted', needs('loop', 'mkfs.ext4'), async (t) => {
  const made = await loopDisk(
    join(plane.dir, 'empty.img'),
    { type: 'ext4', bytes: 16 * mib },
    async () => {},
  );
  t.after(made.close);
  const refused = await media('attach', '--mount', made.device);
  assert.notEqual(refused.code, 0);
  assert.match(refused.all, /carries no content/);
  assert.ok(!existsSync(join(ours, basename(made.device))));
});
