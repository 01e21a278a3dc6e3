import { existsSync } from 'node:fs';
import { mkdir, rmdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { SluiceError } from '../errors/error.ts';
import { runOrThrow } from '../process/run.ts';

/** What `lsblk` says of a block device. */
export interface BlockDevice {
  readonly path: string;
  readonly fstype: string | null;
  /** Removable, or on a bus from which it can be pulled. */
  readonly rm: boolean;
  readonly hotplug: boolean;
  readonly type: string;
  readonly mountpoints: readonly (string | null)[];
}

/** Foreign content: nothing on it may run, be a device, or be written (facts, I12). */
const safe = ['ro', 'nosuid', 'nodev', 'noexec'];

/**
 * How a disk is mounted whose file system is not read in user space. A journal is not replayed: that would write to
 * the disk, and let a kernel parser loose on it. Errors: MediaUnreadable for any other file system.
 */
export function mountOptions(fstype: string): readonly string[] {
  switch (fstype) {
    case 'ext2':
    case 'ext3':
    case 'ext4':
      return [...safe, 'noload'];
    case 'xfs':
      return [...safe, 'norecovery'];
    case 'vfat':
    case 'exfat':
    case 'udf':
      return safe;
    default:
      throw new SluiceError('MediaUnreadable', `disks with ${fstype} are not mounted`, {
        next: 'Copy the bundle to a disk with ext4, xfs, exfat or FAT, or write the .iso to it.',
      });
  }
}

/** Why a device must not be mounted; undefined where it may. The host's own disks are never touched. */
export function whyNotMounted(device: BlockDevice): string | undefined {
  const { path, rm, hotplug, type, mountpoints } = device;
  const isVirtual = type === 'rom' || type === 'loop';
  if (!rm && !hotplug && !isVirtual) return `${path} is neither removable nor virtual`;
  if (mountpoints.some((each) => each !== null)) return `${path} is mounted already, or in use`;
  return undefined;
}

const mountsDirectory = '/run/sluice/media';

/** Mounts a disk, read-only. Answers where. Errors: NotFound, MediaUnreadable, Conflict. */
export async function mountDevice(path: string): Promise<string> {
  const device = await describe(path);
  const why = whyNotMounted(device);
  if (why !== undefined)
    throw new SluiceError('Conflict', why, { next: 'Attach the directory it is mounted at.' });
  const options = mountOptions(device.fstype ?? 'an unknown file system');
  const place = join(mountsDirectory, basename(path));
  await mkdir(place, { recursive: true });
  await runOrThrow('mount', ['-t', device.fstype ?? '', '-o', options.join(','), path, place]);
  return place;
}

/** Lets a disk go that `mountDevice` mounted. Nothing to do for one that was not mounted. */
export async function unmountDevice(path: string): Promise<void> {
  const place = placeOf(path);
  if (place === path) return;
  await runOrThrow('umount', [place]);
  await rmdir(place).catch(() => {});
}

/** Where a disk is mounted; the disk itself where it is read in user space. */
export function placeOf(path: string): string {
  const place = join(mountsDirectory, basename(path));
  return existsSync(place) ? place : path;
}

async function describe(path: string): Promise<BlockDevice> {
  const columns = 'PATH,FSTYPE,RM,HOTPLUG,TYPE,MOUNTPOINTS';
  const { stdout } = await runOrThrow('lsblk', ['--json', '--nodeps', '--output', columns, path]);
  const [device] = (JSON.parse(stdout) as { blockdevices: BlockDevice[] }).blockdevices;
  if (device === undefined) throw new SluiceError('NotFound', `${path} is no block device`);
  return device;
}
