import { mkdir, mkdtemp, rmdir, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run, runOrThrow } from '../src/process/run.ts';

/** A file system on a loop device: a disk as far as the kernel knows (tier `loop`). */
export interface LoopDisk {
  /** `/dev/loop7`. */
  readonly device: string;
  /** The file behind it. */
  readonly image: string;
  close(): Promise<void>;
}

/** @param fill is given the mounted, empty file system. */
export async function loopDisk(
  image: string,
  of: { readonly type: 'ext4' | 'xfs' | 'btrfs'; readonly bytes: number },
  fill: (root: string) => Promise<void>,
): Promise<LoopDisk> {
  await writeFile(image, '');
  await truncate(image, of.bytes);
  const force = of.type === 'ext4' ? '-F' : '-f';
  await runOrThrow(`mkfs.${of.type}`, ['-q', force, image]);
  const device = (await runOrThrow('losetup', ['--find', '--show', image])).stdout.trim();
  const close = async () => {
    await run('losetup', ['--detach', device]);
  };
  try {
    await onMount(device, of.type, fill);
  } catch (error) {
    await close();
    throw error;
  }
  return { device, image, close };
}

async function onMount(device: string, type: string, work: (root: string) => Promise<void>): Promise<void> {
  const root = await mkdtemp(join(tmpdir(), 'sluice-loop-'));
  await runOrThrow('mount', ['-t', type, device, root]);
  try {
    await work(root);
  } finally {
    await runOrThrow('umount', [root]);
    await rmdir(root);
  }
}

/** A small file system on a disk of its own, mounted; to be filled up. */
export async function smallDisk(
  directory: string,
  bytes: number,
): Promise<{ root: string; close(): Promise<void> }> {
  const root = join(directory, 'small');
  await mkdir(root);
  const disk = await loopDisk(join(directory, 'small.img'), { type: 'ext4', bytes }, async () => {});
  await runOrThrow('mount', ['-t', 'ext4', disk.device, root]);
  return {
    root,
    async close() {
      await run('umount', ['--lazy', root]);
      await disk.close();
    },
  };
}
