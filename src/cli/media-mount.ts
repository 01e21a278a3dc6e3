import { mkdir, open, readdir, readFile, rmdir, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { SluiceError, systemCode } from '../errors/error.ts';
import { run, runOrThrow } from '../process/run.ts';
import { shellWord } from '../process/shell.ts';

/** What `lsblk` says of a block device. */
export interface BlockDevice {
  readonly path: string;
  readonly fstype: string | null;
  /** Removable, or on a bus from which it can be pulled. */
  readonly rm: boolean;
  readonly hotplug: boolean;
  readonly type: string;
  readonly mountpoints: readonly (string | null)[];
  /** Names of what is built upon it: dm-0, md1. */
  readonly holders: readonly string[];
}

/** Foreign content: nothing on it may run, be a device, or be written. */
const safe = ['ro', 'nosuid', 'nodev', 'noexec'];

/**
 * How a disk is mounted whose file system is not read in user space. A journal is not replayed: that would write to
 * the disk, and let a kernel parser loose on it. Errors: MediaUnreadable for any other file system.
 */
export function mountOptions(fstype: string): readonly string[] {
  switch (fstype) {
    case 'ext3':
    case 'ext4':
      return [...safe, 'noload'];
    case 'xfs':
      return [...safe, 'norecovery'];
    case 'btrfs':
      return [...safe, 'rescue=nologreplay'];
    // These have no journal.
    case 'ext2':
    case 'vfat':
    case 'exfat':
    case 'udf':
    case 'iso9660':
    case 'squashfs':
    case 'erofs':
      return safe;
    default:
      throw new SluiceError('MediaUnreadable', `disks with ${fstype} are not mounted`, {
        next: 'Copy the bundle to a disk with ext4, xfs, btrfs, exfat or FAT, or write the .iso to it.',
      });
  }
}

/** Why a device must not be mounted; undefined where it may. */
export function whyNotMounted(device: BlockDevice): string | undefined {
  const { path, mountpoints, holders } = device;
  if (isHostDisk(device)) return `${path} is neither removable nor virtual`;
  if (holders.length > 0) return `${path} is a part of ${holders.join(', ')}`;
  const mounted = mountpoints.find((each) => each !== null);
  if (mounted !== undefined) return `${path} is in use already, at ${mounted}`;
  return undefined;
}

/** The host's own disks are never touched. */
function isHostDisk({ rm, hotplug, type }: BlockDevice): boolean {
  return !rm && !hotplug && type !== 'rom' && type !== 'loop';
}

/** Before the first byte of it is read. Nothing to say of what is no disk. Errors: Conflict. */
export async function refuseHostDisk(path: string): Promise<void> {
  const facts = await stat(path).catch(() => undefined);
  if (facts?.isBlockDevice() !== true) return;
  const device = await describe(path);
  if (isHostDisk(device)) throw refused(`${path} is neither removable nor virtual`);
}

function refused(why: string): SluiceError {
  return new SluiceError('Conflict', why, {
    next: 'Where it is mounted already, attach that directory; the disks of the host itself are not touched.',
  });
}

/** Ours alone: whatever is mounted below it, we have mounted. */
const mountsDirectory = '/run/sluice/media';
/** Milliseconds for which a registry that lets a disk go may still read of it. */
const busyMsMax = 10_000;
const busyPollMs = 250;

/** Mounts a disk, read-only. Answers where. Errors: NotFound, MediaUnreadable, Conflict. */
export async function mountDevice(path: string): Promise<string> {
  await sweepMounts();
  // Mounted by us before: attached already, or left by an attach that was killed.
  const standing = await mountedPlaceOf(path);
  if (standing !== undefined) return standing;
  const device = await describe(path);
  const why = whyNotMounted(device) ?? (await whyClaimed(path));
  if (why !== undefined) throw refused(why);
  const fstype = device.fstype ?? 'an unknown file system';
  const options = mountOptions(fstype);
  const place = placeOf(path);
  await mkdir(place, { recursive: true });
  try {
    await runOrThrow('mount', ['-t', fstype, '-o', options.join(','), path, place]);
  } catch (error) {
    await rmdir(place).catch(() => {});
    throw error;
  }
  return place;
}

/**
 * Lets go what `mountDevice` mounted, as the node names it. Nothing to do for any other path. Errors: Conflict where
 * somebody still reads of it after a while.
 */
export async function unmountPlace(place: string): Promise<void> {
  if (dirname(place) !== mountsDirectory) return;
  const endsAt = Date.now() + busyMsMax;
  while (await isMounted(place)) {
    const { code, stderr } = await run('umount', [place]);
    if (code === 0) continue;
    if (Date.now() > endsAt) {
      throw new SluiceError('Conflict', `${place} cannot be unmounted: ${stderr.trim()}`, {
        next: `It is detached. End what still reads of it, then: umount ${shellWord(place)}`,
      });
    }
    await new Promise((resolve) => setTimeout(resolve, busyPollMs));
  }
  await rmdir(place).catch(() => {});
}

/** Where a disk is mounted by us: below our directory, by its name. */
export function placeOf(path: string): string {
  return join(mountsDirectory, basename(path));
}

/** The place where a disk is mounted by us; undefined where it is not. */
export async function mountedPlaceOf(path: string): Promise<string | undefined> {
  return (await isMounted(placeOf(path))) ? placeOf(path) : undefined;
}

/** Clears away what a disk that was pulled, or a crash, has left below our directory. */
export async function sweepMounts(): Promise<void> {
  const mounts = await readMounts();
  for (const name of await readdir(mountsDirectory).catch(() => [] as string[])) {
    const place = join(mountsDirectory, name);
    const mount = mounts.get(place);
    if (mount !== undefined) {
      if (await isThere(mount.source, mount.device)) continue;
      // Whoever still has a file of it open keeps what the kernel has of it, and nobody else comes upon it.
      await run('umount', ['--lazy', place]);
    }
    await rmdir(place).catch(() => {});
  }
}

interface Mount {
  /** `major:minor`. */
  readonly device: string;
  readonly source: string;
}

/** By place: proc_pid_mountinfo(5). */
async function readMounts(): Promise<Map<string, Mount>> {
  const text = await readFile('/proc/self/mountinfo', 'utf8');
  return new Map(
    text.split('\n').flatMap((line) => {
      const words = line.split(' ');
      const [device, place] = [words[2], words[4]];
      const source = words[words.indexOf('-') + 2];
      if (device === undefined || place === undefined || source === undefined) return [];
      return [[unescaped(place), { device, source: unescaped(source) }] as const];
    }),
  );
}

/** Blanks and the like stand there as \040. */
function unescaped(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
}

async function isMounted(place: string): Promise<boolean> {
  return (await readMounts()).has(place);
}

/** Whether the disk of a mount is still the one at its path. btrfs has device numbers of its own: there the path decides. */
async function isThere(source: string, device: string): Promise<boolean> {
  const facts = await stat(source).catch(() => undefined);
  if (facts === undefined || !facts.isBlockDevice()) return false;
  if (device.startsWith('0:')) return (await sizeOf(source)) > 0;
  const [major, minor] = [(facts.rdev >> 8) & 0xfff, (facts.rdev & 0xff) | ((facts.rdev >> 12) & 0xfff00)];
  return device === `${major}:${minor}` && (await sizeOf(source)) > 0;
}

/** Sectors; 0 for a drive or loop device that is empty. */
async function sizeOf(path: string): Promise<number> {
  return Number(await readFile(`/sys/class/block/${basename(path)}/size`, 'utf8').catch(() => '1'));
}

/** Whether the kernel itself uses it, in ways that lsblk does not tell. */
async function whyClaimed(path: string): Promise<string | undefined> {
  try {
    await (await open(path, exclusiveRead)).close();
    return undefined;
  } catch (error) {
    if (systemCode(error) === 'EBUSY')
      return `${path} is in use by the kernel or by a program that has claimed it`;
    throw error;
  }
}

/** open(2): O_EXCL without O_CREAT fails with EBUSY for a block device that is in use. */
const exclusiveRead = 0o200;

async function describe(path: string): Promise<BlockDevice> {
  const facts = await stat(path).catch(() => undefined);
  if (facts?.isBlockDevice() !== true) throw new SluiceError('NotFound', `${path} is no block device`);
  const columns = 'PATH,FSTYPE,RM,HOTPLUG,TYPE,MOUNTPOINTS';
  const { stdout } = await runOrThrow('lsblk', ['--json', '--nodeps', '--output', columns, path]);
  const { blockdevices } = JSON.parse(stdout) as { blockdevices: Omit<BlockDevice, 'holders'>[] };
  const [device] = blockdevices;
  if (device === undefined) throw new SluiceError('NotFound', `${path} is no block device`);
  const holders = await readdir(`/sys/class/block/${basename(path)}/holders`).catch(() => []);
  return { ...device, fstype: device.fstype ?? (await probe(path)), holders };
}

/** Where udev has not looked at the disk, its first bytes tell. */
async function probe(path: string): Promise<string | null> {
  const { code, stdout } = await run('blkid', ['--probe', '--match-tag', 'TYPE', '--output', 'value', path]);
  return code === 0 && stdout.trim() !== '' ? stdout.trim() : null;
}
