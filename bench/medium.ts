import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';

/** A file system on a disk of its own that the kernel holds to so many bytes a second, and counts. */
export interface Medium {
  /** Where its content lies. */
  readonly path: string;
  /** Bytes that were read from the disk itself since it was made, whoever asked. */
  bytesRead(): number;
  /** Mounts it anew: what had been read is forgotten, and has to be read again. */
  remount(): void;
  close(): void;
}

/** Documentation/admin-guide/cgroup-v1/blkio-controller.rst of Linux; at the root, so it holds for every process. */
const throttle = '/sys/fs/cgroup/blkio/blkio.throttle.read_bps_device';
/** Documentation/block/stat.rst of Linux: the third number counts sectors that were read, of 512 bytes each. */
const sectorBytes = 512;

/**
 * Puts directories onto an ext4 image behind a loop device, read-only, as a disk that is plugged in. Needs root, and for
 * a limit the blkio controller.
 *
 * @param of.bytesPerSecond absent: as fast as the disk below it.
 */
export function makeMedium(of: {
  readonly dir: string;
  readonly content: string;
  readonly mib: number;
  readonly bytesPerSecond?: number;
}): Medium {
  const image = join(of.dir, 'medium.img');
  const path = join(of.dir, 'medium');
  mkdirSync(path);
  // A quarter more than its content, for what ext4 needs itself.
  const size = `${Math.ceil(of.mib * 1.25 + 64)}M`;
  execFileSync('mke2fs', ['-q', '-F', '-t', 'ext4', '-d', of.content, image, size]);
  const device = run('losetup', '--find', '--show', '--read-only', image);
  const facts = join('/sys/block', basename(device));
  const number = readFileSync(join(facts, 'dev'), 'latin1').trim();
  const limit = (bytes: number) => {
    if (of.bytesPerSecond !== undefined) writeFileSync(throttle, `${number} ${bytes}`);
  };
  const bytesRead = () =>
    Number(readFileSync(join(facts, 'stat'), 'latin1').trim().split(/\s+/)[2]) * sectorBytes;
  const mount = () => run('mount', '-o', 'ro', device, path);
  const close = () => {
    run('umount', path);
    limit(0);
    run('losetup', '--detach', device);
    rmSync(image);
    rmSync(path, { recursive: true });
  };
  if (of.bytesPerSecond !== undefined && !existsSync(throttle)) {
    run('losetup', '--detach', device);
    throw new Error(`${throttle} is missing: this needs a host with the blkio controller of cgroup v1`);
  }
  limit(of.bytesPerSecond ?? 0);
  mount();
  const before = bytesRead();
  return {
    path,
    bytesRead: () => bytesRead() - before,
    remount() {
      run('umount', path);
      mount();
    },
    close,
  };
}

function run(program: string, ...args: string[]): string {
  return execFileSync(program, args, { encoding: 'utf8' }).trim();
}
