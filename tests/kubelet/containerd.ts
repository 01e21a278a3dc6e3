import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createConnection } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** A containerd of our own, beside any that the host has: its root, state, socket and registry hosts in one directory. */
export interface Containerd {
  readonly socket: string;
  /** Where containerd reads `<host>/hosts.toml` (containerd, docs/hosts.md). */
  readonly certsDir: string;
  /** Loads an image archive (docker-archive or OCI layout, tar) for pods, under this name and the tag that it has. */
  load(archive: string, name: string): void;
  /** References of the images that pods could use now. */
  images(): string[];
  /** Ends it and its shims; leaves no mount below its directory. Containers end with the kubelet that wanted them. */
  close(): Promise<void>;
}

export interface ContainerdOptions {
  readonly dir: string;
  /** The image that holds a pod's namespaces, as a reference that is loaded or can be pulled. */
  readonly sandboxImage: string;
  /** The bridge that pods are joined to, and the network of it that pods get addresses from. */
  readonly bridge: string;
  readonly podSubnet: string;
}

const startMs = 30_000;

export async function startContainerd(options: ContainerdOptions): Promise<Containerd> {
  const { dir } = options;
  const file = (name: string) => join(dir, name);
  for (const name of ['root', 'state', 'cni', 'certs.d']) mkdirSync(file(name), { recursive: true });
  const socket = file('containerd.sock');
  writeFileSync(file('config.toml'), configOf(options, socket));
  writeFileSync(file('cni/10-bridge.conflist'), JSON.stringify(networkOf(options)));
  const log = openSync(file('containerd.log'), 'a');
  const child = spawn('containerd', ['--config', file('config.toml')], {
    stdio: ['ignore', log, log],
    detached: true,
  });
  closeSync(log);
  const ctr = (...args: string[]) =>
    spawnSync('ctr', ['--address', socket, '--namespace', 'k8s.io', ...args], {
      encoding: 'utf8',
      timeout: 60_000,
    });
  const close = async () => {
    await ended(child);
    killShims(socket);
    unmountBelow(dir);
    rmSync(dir, { recursive: true, force: true });
  };
  try {
    await answers(socket, child);
  } catch (error) {
    const tail = readFileSync(file('containerd.log'), 'utf8').slice(-2000);
    await close();
    throw new Error(`${(error as Error).message}: ${tail}`);
  }
  return {
    socket,
    certsDir: file('certs.d'),
    load(archive, name) {
      const loaded = ctr('images', 'import', '--base-name', name, archive);
      if (loaded.status !== 0) throw new Error(`ctr images import: ${loaded.stderr}`);
    },
    images: () => ctr('images', 'list', '--quiet').stdout.split('\n').filter(Boolean),
    close,
  };
}

function configOf(options: ContainerdOptions, socket: string): string {
  const file = (name: string) => JSON.stringify(join(options.dir, name));
  const cri = 'plugins."io.containerd.grpc.v1.cri"';
  return `version = 2
root = ${file('root')}
state = ${file('state')}
[grpc]
address = ${JSON.stringify(socket)}
[${cri}]
sandbox_image = ${JSON.stringify(options.sandboxImage)}
# A test host need not have the right to lower the score by which the kernel chooses whom to kill.
restrict_oom_score_adj = true
disable_apparmor = true
[${cri}.containerd]
snapshotter = "overlayfs"
default_runtime_name = "runc"
[${cri}.containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[${cri}.cni]
bin_dir = "/usr/lib/cni"
conf_dir = ${file('cni')}
[${cri}.registry]
config_path = ${file('certs.d')}
`;
}

function networkOf(options: ContainerdOptions): unknown {
  return {
    cniVersion: '0.4.0',
    name: 'sluice-test',
    plugins: [
      {
        type: 'bridge',
        bridge: options.bridge,
        isGateway: true,
        ipMasq: false,
        ipam: {
          type: 'host-local',
          dataDir: join(options.dir, 'addresses'),
          ranges: [[{ subnet: options.podSubnet }]],
          routes: [{ dst: '0.0.0.0/0' }],
        },
      },
    ],
  };
}

async function answers(socket: string, child: ChildProcess): Promise<void> {
  for (const end = Date.now() + startMs; ; await sleep(100)) {
    const open = await new Promise<boolean>((resolve) => {
      const probe = createConnection(socket, () => resolve(true)).once('error', () => resolve(false));
      probe.unref();
      probe.once('connect', () => probe.destroy());
    });
    if (open) return;
    if (child.exitCode !== null) throw new Error(`containerd ended with ${child.exitCode}`);
    if (Date.now() > end) throw new Error(`containerd was not up within ${startMs / 1000} s`);
  }
}

/** Ends a child at once and waits until it is gone. */
export async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL');
  await exit;
}

/** Shims outlive their containerd by design; ours are known by its socket on their command line. */
function killShims(socket: string): void {
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      if (readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').includes(socket)) {
        process.kill(Number(pid), 'SIGKILL');
      }
    } catch {
      // It ended while we looked.
    }
  }
}

/** Takes away every mount at or below a directory, the deepest first. */
export function unmountBelow(dir: string): void {
  const points = readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[1] ?? '')
    .filter((point) => point === dir || point.startsWith(`${dir}/`))
    .sort((left, right) => right.length - left.length);
  for (const point of points) spawnSync('umount', ['--lazy', point]);
}
