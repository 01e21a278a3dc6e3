import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import {
  chmod,
  copyFile,
  lstat,
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { SluiceError } from '../errors/error.ts';
import { run, runOrThrow } from '../process/run.ts';
import { findProgram, resolveInRoot } from './root-path.ts';
import type { ContainerMount, ContainerSpec } from './runner.ts';
import { isLoaderVariable, type Launch, type SandboxOptions } from './sandbox-launch.ts';

const devices = [
  ['null', '1', '3'],
  ['zero', '1', '5'],
  ['full', '1', '7'],
  ['random', '1', '8'],
  ['urandom', '1', '9'],
] as const;
const pathDefault = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
/** uid in a user namespace where the container asks for none, or for root, which would hold capabilities there. */
const namespaceUser = 10_001;

export interface RootInputs {
  readonly id: string;
  /** Of this container; exists, empty. */
  readonly directory: string;
  /** The unpacked image. */
  readonly source: string;
  readonly spec: ContainerSpec;
  readonly options: SandboxOptions;
}

/**
 * Makes the root directory of a container without mounting anything: a copy of the image, devices, the files of
 * its volumes, its shared volumes moved in. Errors: InputInvalid (a mount that cannot be made so), CommandFailed.
 */
export async function prepareRoot(inputs: RootInputs): Promise<Launch> {
  const { spec, options, directory } = inputs;
  const rootfs = join(directory, 'rootfs');
  await runOrThrow('cp', ['-a', '--reflink=auto', '--', inputs.source, rootfs], { timeoutMs: 600_000 });
  await chmod(rootfs, 0o755);
  for (const file of ['hosts', 'resolv.conf']) {
    const text = await readFile(`/etc/${file}`).catch(() => undefined);
    if (text !== undefined) await writeFile(await fileInRoot(rootfs, `/etc/${file}`), text);
  }
  // Everything belongs to root; without this /tmp and its like could be written.
  if (spec.readOnlyRoot && options.mode === 'root') await runOrThrow('chmod', ['-R', 'go-w', '--', rootfs]);
  const plainDevices = await makeDevices(rootfs, options.mode === 'root');
  const placed: Launch['placed'][number][] = [];
  const copied: Launch['copied'][number][] = [];
  const shared: string[] = [];
  const readable: string[] = [];
  for (const mount of [...spec.mounts].sort((a, b) => a.target.length - b.target.length)) {
    const target = await resolveInRoot(rootfs, mount.target, { create: true });
    if (target === rootfs) throw new SluiceError('InputInvalid', 'a volume cannot be the root directory');
    await rm(target, { recursive: true, force: true });
    if (mount.shared) {
      await placeShared(mount, target, placed);
      const { ino } = await stat(target);
      placed.push({ volume: mount.volume, source: mount.source, target, inode: ino });
      (mount.readOnly ? readable : shared).push(target);
    } else {
      await runOrThrow('cp', ['-a', '--', join(mount.source, mount.subPath), target]);
      readable.push(target);
      // A part of a volume is not refreshed, as with a real kubelet.
      if (mount.subPath === '') {
        const { ino } = await stat(target);
        copied.push({ volume: mount.volume, source: mount.source, target, inode: ino });
      }
    }
  }
  const workingDirInside = spec.workingDir === '' ? '/' : spec.workingDir;
  const workingDir = await resolveInRoot(rootfs, workingDirInside, { create: true });
  const terminationFile = await fileInRoot(rootfs, spec.terminationPath);
  await writeFile(terminationFile, '', { mode: 0o666 });
  if (options.mode === 'user-namespace') {
    await lockByMode({
      rootfs,
      readOnlyRoot: spec.readOnlyRoot,
      readable,
      writable: [...shared, ...plainDevices, terminationFile],
    });
  }
  const env = Object.fromEntries(spec.env.map(({ name, value }) => [name, value]));
  env.PATH ??= pathDefault;
  const argv = await executable(rootfs, workingDirInside, spec.argv, env);
  return {
    container: {
      id: inputs.id,
      podUid: spec.podUid,
      podName: spec.podName,
      podNamespace: spec.podNamespace,
      container: spec.container,
      attempt: spec.attempt,
      image: spec.image,
      logPath: spec.logPath,
    },
    mode: options.mode,
    tools: options.tools,
    rootfs,
    workingDir,
    workingDirInside,
    argv,
    env: Object.fromEntries(Object.entries(env).filter(([name]) => !isLoaderVariable(name))),
    user: spec.user === undefined || spec.user === 0 ? namespaceUser : spec.user,
    logBytesMax: spec.logBytesMax,
    ...(spec.memoryBytes === undefined ? {} : { memoryBytes: spec.memoryBytes }),
    owned: spec.readOnlyRoot ? [...shared, terminationFile] : [rootfs],
    readable,
    placed,
    copied,
    terminationFile,
    openFilesMax: options.openFilesMax,
  };
}

/** Everything belongs to the user as whom the container runs: what is read-only can be so by permission bits alone. */
async function lockByMode(what: {
  rootfs: string;
  readOnlyRoot: boolean;
  readable: readonly string[];
  writable: readonly string[];
}): Promise<void> {
  const locked = what.readOnlyRoot ? [what.rootfs] : what.readable;
  if (locked.length > 0) await runOrThrow('chmod', ['-R', 'a-w', '--', ...locked]);
  await runOrThrow('chmod', ['-R', 'u+w', '--', ...what.writable]);
}

async function placeShared(
  mount: ContainerMount,
  target: string,
  placed: readonly { volume: string }[],
): Promise<void> {
  if (mount.subPath !== '' || placed.some((other) => other.volume === mount.volume)) {
    throw new SluiceError(
      'InputInvalid',
      `the sandbox mounts the volume ${mount.volume} whole and once in a container`,
    );
  }
  if (!(await stat(mount.source).catch(() => undefined))) {
    throw new SluiceError(
      'InputInvalid',
      `the volume ${mount.volume} is in use by another running container, which the sandbox cannot share`,
    );
  }
  await rename(mount.source, target);
}

/** The argument vector with which execve finds the program. Errors: InputInvalid. */
async function executable(
  rootfs: string,
  workingDir: string,
  argv: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<string[]> {
  const [program = ''] = argv;
  const found = await findProgram(rootfs, program, env.PATH ?? pathDefault, workingDir);
  if (found === undefined) {
    throw new SluiceError('InputInvalid', `exec: "${program}": executable file not found in $PATH`);
  }
  const late = Object.entries(env).filter(([name]) => isLoaderVariable(name));
  if (late.length === 0) return [found, ...argv.slice(1)];
  // These would act on the programs that confine the container: its own env sets them, once it is confined.
  const setter = await findProgram(rootfs, 'env', '/usr/bin:/bin', '/');
  if (setter === undefined) {
    const names = late.map(([name]) => name).join(', ');
    throw new SluiceError('InputInvalid', `the sandbox cannot set ${names}: the image has no env program`);
  }
  return [setter, ...late.map(([name, value]) => `${name}=${value}`), found, ...argv.slice(1)];
}

/** Resolves to those that could only be files. */
async function makeDevices(rootfs: string, asRoot: boolean): Promise<string[]> {
  const plain: string[] = [];
  const directory = await resolveInRoot(rootfs, '/dev', { create: true });
  for (const [name, major, minor] of devices) {
    const path = join(directory, name);
    await rm(path, { recursive: true, force: true });
    if (asRoot && (await run('mknod', ['-m', '666', path, 'c', major, minor])).code === 0) continue;
    // Without the right to make devices, an empty file swallows what is written and has nothing to read.
    if (name !== 'null') continue;
    await writeFile(path, '', { mode: 0o666 });
    plain.push(path);
  }
  return plain;
}

/** A path for a file, its directories made; what stood there is gone. */
async function fileInRoot(rootfs: string, path: string): Promise<string> {
  const directory = await resolveInRoot(rootfs, dirname(path), { create: true });
  const file = join(directory, path.slice(path.lastIndexOf('/') + 1));
  await rm(file, { recursive: true, force: true });
  return file;
}

/** Moves the shared volumes of an ended container back, where it left them as they were. */
export async function reclaim(launch: Launch): Promise<void> {
  for (const { source, target, inode } of [...launch.placed].reverse()) {
    const there = await lstat(target).catch(() => undefined);
    if (there === undefined || there.ino !== inode || !(await hasNoLinks(launch.rootfs, target))) continue;
    if (await stat(source).catch(() => undefined)) continue;
    if (launch.mode === 'user-namespace') await chmod(dirname(target), 0o755);
    await rename(target, source).catch(() => {}); // The Pod's own directory may be gone already.
  }
}

/** Whether no component below `root` is a link, so that the path means what it says. Only while nothing runs in it. */
export async function hasNoLinks(root: string, path: string): Promise<boolean> {
  let here = root;
  for (const part of relative(root, path).split('/')) {
    here = join(here, part);
    const found = await lstat(here).catch(() => undefined);
    if (found === undefined || found.isSymbolicLink()) return false;
  }
  return true;
}

/** Writes the present files of a volume over the copies that a running container has. */
export async function refreshCopies(launch: Launch, volume: string, uid: number): Promise<void> {
  for (const copy of launch.copied) {
    if (copy.volume !== volume) continue;
    // The container may move things meanwhile: only the very directory that was given to it is written to.
    await copyInto(copy.source, copy.target, launch.mode === 'root' ? uid : undefined, copy.inode);
  }
}

async function copyInto(source: string, target: string, group?: number, inode?: number): Promise<void> {
  const directory = await open(
    target,
    constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW,
  ).catch(() => undefined);
  if (directory === undefined) return;
  try {
    const { ino, mode: bits } = await directory.stat();
    if (inode !== undefined && ino !== inode) return;
    if ((bits & 0o200) === 0) await directory.chmod(bits | 0o200);
    const pinned = `/proc/self/fd/${directory.fd}`;
    const wanted = await readdir(source, { withFileTypes: true });
    for (const name of await readdir(pinned)) {
      if (!wanted.some((entry) => entry.name === name))
        await rm(join(pinned, name), { recursive: true, force: true });
    }
    for (const entry of wanted) {
      const [from, to] = [join(source, entry.name), join(pinned, entry.name)];
      if (entry.isDirectory()) {
        await mkdir(to, { mode: 0o755 }).catch(() => {});
        await copyInto(from, to, group);
        continue;
      }
      const temporary = join(pinned, `.${randomBytes(6).toString('hex')}`);
      await copyFile(from, temporary, constants.COPYFILE_EXCL);
      const { mode } = await stat(from);
      if (group !== undefined) {
        const handle = await open(temporary, constants.O_RDONLY | constants.O_NOFOLLOW);
        try {
          await handle.chown(0, group);
          await handle.chmod((mode & 0o777) | 0o040);
        } finally {
          await handle.close();
        }
      }
      await rename(temporary, to);
    }
    if ((bits & 0o200) === 0) await directory.chmod(bits);
  } finally {
    await directory.close();
  }
}
