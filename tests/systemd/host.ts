import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { run } from '../../src/process/run.ts';
import { repository } from '../tier.ts';
import { systemdBase } from './base.ts';

/** Where the host sees the repository: a clone below /tmp would be hidden by the host's own /tmp. */
const program = '/opt/sluice';

/** A host with its own systemd, logind, bus and reboots: a booted container on a network of its own. */
export interface BootedHost {
  readonly root: string;
  /** The address at which the host reaches this process, and its own. */
  readonly gateway: string;
  readonly address: string;
  /** Runs a command inside. Throws where it fails, unless `check` is false. */
  inside(command: readonly string[], options?: { check?: boolean; input?: string }): string;
  /** The same for a command that asks something of this process, which goes on meanwhile. Its output, and its errors. */
  insideMeanwhile(command: readonly string[]): Promise<string>;
  /** How often it has booted. */
  boots(): number;
  /** Waits until it has booted so often, and its agent answers. */
  booted(times: number): Promise<void>;
  write(path: string, text: string, mode?: number): void;
  read(path: string): string;
  /** Lines that were said to rpm-ostree. */
  calls(): string[];
  close(): Promise<void>;
}

/** Nothing of this machine's own environment means anything inside. */
const insideEnvironment = { PATH: '/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' };
const rebootCode = 133;
const bootMs = 60_000;
let count = 0;

export interface HostOptions {
  /** Text of /etc/sluice/config.d/50-test.toml; `GATEWAY` stands for the address of this process. */
  readonly config: string;
  /** Checksum and version of what it runs first. */
  readonly booted: readonly [string, string];
  /** Versions by checksum, for what is staged later. */
  readonly versions: Readonly<Record<string, string>>;
  /** The origin of a host that follows images, in rpm-ostree's words; absent: it follows commits. */
  readonly origin?: string;
  /** Lines for [Service] of the agent's unit. */
  readonly service?: string;
  /** Devices of this machine that the host sees. */
  readonly devices?: readonly string[];
  /** Its udev runs, and follows what this machine's kernel says of devices. */
  readonly udev?: boolean;
  /** Directories of this machine, `from:to`, which it can only read. */
  readonly directories?: readonly string[];
  /** Shipped units that are enabled beside the agent's. */
  readonly units?: readonly string[];
  /** A disk that is mounted at /mnt; the host has nothing of Sluice then, until somebody installs it from there. */
  readonly medium?: string;
  /** Told of the host's root and address before it boots for the first time. */
  readonly prepare?: (root: string, address: string) => Promise<void>;
}

/** Boots a host that runs the shipped unit of the agent, with a played rpm-ostree. */
export async function bootHost(t: TestContext, options: HostOptions): Promise<BootedHost> {
  count += 1;
  const id = `sl${(process.pid % 10_000).toString(36)}x${count}`;
  const subnet = `10.${200 + (process.pid % 50)}.${count}`;
  const dir = mkdtempSync(join(tmpdir(), 'sluice-host-'));
  const root = join(dir, 'root');
  for (const name of ['up', 'work', 'root']) mkdirSync(join(dir, name));
  const layers = `lowerdir=${systemdBase()},upperdir=${join(dir, 'up')},workdir=${join(dir, 'work')}`;
  must('mount', '-t', 'overlay', 'overlay', '-o', layers, root);
  must('ip', 'netns', 'add', id);
  must('ip', 'link', 'add', `${id}h`, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', id);
  must('ip', 'addr', 'add', `${subnet}.1/24`, 'dev', `${id}h`);
  must('ip', 'link', 'set', `${id}h`, 'up');
  for (const words of [`addr add ${subnet}.2/24 dev eth0`, 'link set eth0 up', 'link set lo up']) {
    must('ip', '-n', id, ...words.split(' '));
  }
  const address = `${subnet}.2`;
  install(root, { ...options, config: options.config.replaceAll('GATEWAY', `${subnet}.1`) });
  await options.prepare?.(root, address);

  const awaited = options.medium === undefined ? 'sluice-agent' : 'multi-user.target';
  let boots = 0;
  let machine: ChildProcess | undefined;
  let closing = false;
  let console = '';
  const power = () => {
    boots += 1;
    const flags = [
      '-q',
      '-M',
      id,
      '--register=no',
      '--keep-unit',
      `--network-namespace-path=/run/netns/${id}`,
    ];
    const bind =
      options.medium === undefined
        ? `--bind-ro=${repository}:${program}`
        : `--bind-ro=${mountMedium(options.medium, dir)}:/mnt`;
    const devices = (options.devices ?? []).map((device) => `--bind=${device}`);
    const directories = (options.directories ?? []).map((each) => `--bind-ro=${each}`);
    // udev wants a /sys that can be written, and the right to pass on what it has seen.
    const udev = options.udev === true ? ['--capability=CAP_NET_ADMIN'] : [];
    const env =
      options.udev === true ? { ...process.env, SYSTEMD_NSPAWN_API_VFS_WRITABLE: '1' } : process.env;
    const binds = [bind, ...devices, ...directories, ...udev, '--console=pipe', '-D', root, '--boot'];
    machine = spawn('systemd-nspawn', [...flags, ...binds], { stdio: ['ignore', 'pipe', 'pipe'], env });
    for (const stream of [machine.stdout, machine.stderr]) {
      stream?.on('data', (chunk) => {
        console = `${console}${chunk}`.slice(-4000);
      });
    }
    machine.once('exit', (code) => {
      if (code === rebootCode && !closing) power();
      else console += ` systemd-nspawn ended with ${code}`;
    });
  };
  /** PID 1 of the host, as this machine counts; '' while there is none. */
  const leader = () => {
    const path = `/proc/${machine?.pid}/task/${machine?.pid}/children`;
    return (existsSync(path) ? readFileSync(path, 'utf8') : '').trim().split(' ')[0] ?? '';
  };
  const enter = () => {
    const pid = leader();
    if (pid === '') throw new Error('the host does not run');
    return ['-t', pid, '-m', '-u', '-i', '-p', '-n', '-C', '--'];
  };
  const lastWords = () => {
    try {
      return host.inside(['journalctl', '-b', '-n', '30', '--no-pager'], { check: false });
    } catch {
      return '';
    }
  };
  const host: BootedHost = {
    root,
    gateway: `${subnet}.1`,
    address,
    inside(command, { check = true, input } = {}) {
      const result = spawnSync('nsenter', [...enter(), ...command], {
        encoding: 'utf8',
        input,
        timeout: 60_000,
        env: insideEnvironment,
      });
      if (check && result.status !== 0) {
        throw new Error(`${command.join(' ')}: ${result.status} ${result.stdout} ${result.stderr}`);
      }
      return check ? result.stdout : `${result.stdout}${result.stderr}`;
    },
    async insideMeanwhile(command) {
      const words = [...enter(), ...command];
      const result = await run('nsenter', words, { timeoutMs: 120_000, env: insideEnvironment });
      const said = `${result.stdout}${result.stderr}`;
      if (result.code !== 0) throw new Error(`${command.join(' ')}: ${result.code} ${said}`);
      return said;
    },
    boots: () => boots,
    async booted(times) {
      await until(
        () =>
          boots >= times &&
          host.inside(['systemctl', 'is-active', awaited], { check: false }).startsWith('active'),
        () =>
          `the host does not come up for boot ${times} (it has booted ${boots} times): ${console} ${lastWords()}`,
        bootMs,
      );
    },
    write(path, text, mode = 0o644) {
      host.inside(
        ['sh', '-c', `cat >"$1.new" && chmod ${mode.toString(8)} "$1.new" && mv "$1.new" "$1"`, 'sh', path],
        {
          input: text,
        },
      );
    },
    read: (path) => readFileSync(join(root, path), 'utf8'),
    calls: () => readFileSync(join(root, 'var/lib/played-ostree/calls'), 'utf8').trim().split('\n'),
    async close() {
      closing = true;
      const ended = new Promise((resolve) => machine?.once('exit', resolve));
      // Its PID 1 does not end with systemd-nspawn, and everything else of it ends with that.
      const pid = leader();
      if (pid !== '') spawnSync('kill', ['-KILL', pid]);
      machine?.kill('SIGKILL');
      if (machine?.exitCode === null) await ended;
      spawnSync('umount', ['-l', root]);
      spawnSync('umount', ['-l', mediumIn(dir)]);
      spawnSync('ip', ['netns', 'del', id]);
      spawnSync('ip', ['link', 'del', `${id}h`]);
      rmSync(dir, { recursive: true, force: true });
    },
  };
  t.after(() => host.close());
  power();
  await host.booted(1);
  return host;
}

const mediumIn = (dir: string) => join(dir, 'medium');

/** As a disk of others is mounted: nothing on it can be written or run. */
function mountMedium(medium: string, dir: string): string {
  const place = mediumIn(dir);
  if (existsSync(place)) return place;
  mkdirSync(place);
  must('mount', '--bind', medium, place);
  must('mount', '-o', 'remount,bind,ro,nosuid,nodev,noexec', place);
  return place;
}

/** Where a package puts what deploy/systemd holds. */
const shippedPlaces = [
  ['system', 'usr/lib/systemd/system'],
  ['sysusers.d', 'usr/lib/sysusers.d'],
  ['tmpfiles.d', 'usr/lib/tmpfiles.d'],
  ['udev/rules.d', 'usr/lib/udev/rules.d'],
  ['dbus-1/system.d', 'usr/share/dbus-1/system.d'],
  ['polkit-1/actions', 'usr/share/polkit-1/actions'],
  ['polkit-1/rules.d', 'usr/share/polkit-1/rules.d'],
] as const;

/** Puts the shipped files of deploy/systemd and the played rpm-ostree where they belong. */
function install(root: string, options: HostOptions): void {
  const deploy = join(repository, 'deploy', 'systemd');
  const put = (from: string, to: string) => {
    mkdirSync(join(root, to, '..'), { recursive: true });
    copyFileSync(from, join(root, to));
  };
  const text = (to: string, content: string) => {
    mkdirSync(join(root, to, '..'), { recursive: true });
    writeFileSync(join(root, to), content);
  };
  const bare = options.medium !== undefined;
  const units = bare ? [] : ['sluice-agent.service', ...(options.units ?? [])];
  if (!bare) {
    for (const [from, to] of shippedPlaces) cpSync(join(deploy, from), join(root, to), { recursive: true });
    symlinkSync(join(program, 'sluice'), join(root, 'usr/bin/sluice'));
  }
  put(join(import.meta.dirname, 'rpm-ostree'), 'usr/bin/rpm-ostree');
  put(join(import.meta.dirname, 'played-boot.service'), 'usr/lib/systemd/system/played-boot.service');
  // These protections show the machine's boot id instead of the container's own (systemd 252 in systemd-nspawn).
  const shown = ['ProtectKernelTunables=no', 'ProtectControlGroups=no', 'ProtectProc=default'];
  const quick = [
    '[Service]',
    'ExecStart=',
    `ExecStart=${bare ? '/usr/local' : '/usr'}/bin/sluice node run --local --os-driver rpm-ostree`,
  ];
  text(
    'etc/systemd/system/sluice-agent.service.d/test.conf',
    `${[...quick, 'RestartSec=200ms', 'ReadWritePaths=/var/lib/played-ostree', ...shown, options.service ?? ''].join('\n')}\n[Unit]\nStartLimitIntervalSec=0\n`,
  );
  for (const [target, unit] of [
    ...units.map((each) => ['multi-user.target', each] as const),
    ['sysinit.target', 'played-boot.service'] as const,
  ]) {
    mkdirSync(join(root, `etc/systemd/system/${target}.wants`), { recursive: true });
    symlinkSync(`/usr/lib/systemd/system/${unit}`, join(root, `etc/systemd/system/${target}.wants/${unit}`));
  }
  if (options.udev === true) {
    // With a /sys and a /proc/sys that are this machine's, these would change it.
    for (const unit of ['systemd-sysctl', 'systemd-udev-trigger', 'systemd-modules-load', 'systemd-binfmt'])
      symlinkSync('/dev/null', join(root, `etc/systemd/system/${unit}.service`));
  }
  const machineId = Buffer.from(root.slice(-16).padStart(16)).toString('hex');
  text('etc/machine-id', `${machineId}\n`);
  text(
    'etc/sluice/config.d/50-test.toml',
    `[agent]\nclock = "trusted"\nfirst_boot_secs = 0\n${options.config}`,
  );
  if (options.origin !== undefined) text('var/lib/played-ostree/origin', `${options.origin}\n`);
  text('var/lib/played-ostree/booted', `${options.booted.join(' ')}\n`);
  for (const [checksum, version] of Object.entries(options.versions)) {
    text(`var/lib/played-ostree/versions/${checksum}`, version);
  }
}

/** Waits for what must come; events decide, the time only ends what never would. */
export async function until(holds: () => boolean, why: () => string, ms = 60_000): Promise<void> {
  const end = Date.now() + ms;
  for (;;) {
    let failure: unknown;
    try {
      if (holds()) return;
    } catch (error) {
      failure = error; // It reboots right now.
    }
    if (Date.now() > end) throw new Error(why(), { cause: failure });
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

function must(command: string, ...args: string[]): void {
  const { status, stderr } = spawnSync(command, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${command} ${args.join(' ')}: ${stderr}`);
}
