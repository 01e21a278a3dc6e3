import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

const suite = 'bookworm';
const include = 'systemd,dbus,libpam-systemd,iproute2,libstdc++6,polkitd,udev';

function cache(): string {
  return process.env.SLUICE_CACHE ?? join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'sluice');
}

/**
 * The root of a Debian with systemd, made once for all runs and never changed: hosts lie over it. Outside the
 * repository, so that a clean clone finds it again.
 */
export function systemdBase(): string {
  // Another list of packages is another base: one that was made before would lack what was added.
  const list = createHash('sha256').update(include).digest('hex').slice(0, 8);
  const base = join(cache(), `systemd-${suite}-${list}`);
  if (existsSync(join(base, 'lib/systemd/systemd'))) return base;
  const building = `${base}.building-${process.pid}`;
  mkdirSync(cache(), { recursive: true });
  const made = spawnSync('debootstrap', ['--variant=minbase', `--include=${include}`, suite, building], {
    encoding: 'utf8',
    timeout: 600_000,
  });
  if (made.status !== 0) {
    rmSync(building, { recursive: true, force: true });
    throw new Error(`debootstrap: ${(made.stdout + made.stderr).trim().split('\n').at(-1)}`);
  }
  try {
    renameSync(building, base);
  } catch {
    rmSync(building, { recursive: true, force: true }); // Another run was faster.
  }
  return base;
}

/** Every systemd inside takes some of root's inotify instances, of which a kernel allows 128 unless it is told. */
const inotifyInstances = '/proc/sys/fs/inotify/max_user_instances';
const inotifyInstancesMin = 1024;

/** Raised for this boot of the machine, never lowered. */
function raiseInotifyLimit(): void {
  if (Number(readFileSync(inotifyInstances, 'utf8')) < inotifyInstancesMin) {
    writeFileSync(inotifyInstances, String(inotifyInstancesMin));
  }
}

/** Why hosts cannot be booted here; undefined where they can. Asks by running a container. */
export function systemdMissing(): string | undefined {
  if (process.getuid?.() !== 0) return 'not root';
  for (const [program, probe] of [
    ['systemd-nspawn', '--version'],
    ['ip', '-V'],
  ] as const) {
    if (spawnSync(program, [probe]).status !== 0) return `${program} is not installed`;
  }
  let base: string;
  try {
    base = systemdBase();
  } catch (error) {
    return `the base system cannot be made: ${(error as Error).message}`;
  }
  raiseInotifyLimit();
  const machine = `probe-${process.pid}`;
  const flags = ['-q', '-M', machine, '--register=no', '--keep-unit', '--volatile=overlay', '-D', base];
  const probe = spawnSync('systemd-nspawn', [...flags, '/bin/true'], { encoding: 'utf8', timeout: 60_000 });
  return probe.status === 0
    ? undefined
    : `systemd-nspawn cannot run a container: ${probe.stderr.trim().slice(-200)}`;
}
