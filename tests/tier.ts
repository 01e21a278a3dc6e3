import { spawnSync } from 'node:child_process';
import { accessSync, constants, copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { systemdMissing } from './systemd/base.ts';

/**
 * What a test needs of its host. A tier that `SLUICE_REQUIRE` names must be there: then its absence fails
 * instead of skipping.
 */
export type Need =
  | 'browser'
  | 'buildah'
  | 'busybox'
  | 'containerd'
  | 'containers'
  | 'dbus-daemon'
  | 'docker-registry'
  | 'go'
  | 'gpg'
  | 'ip'
  | 'kubectl'
  | 'kubelet'
  | 'loop'
  | 'mkfs.btrfs'
  | 'mkfs.ext4'
  | 'mkfs.xfs'
  | 'mksquashfs'
  | 'podman'
  | 'promtool'
  | 'root'
  | 'shared-data'
  | 'skopeo'
  | 'systemd'
  | 'xorriso';

/** The reference data beside the project, where it is. */
export const sharedData = join(import.meta.dirname, '..', '..', 'shared', 'data');

/** The browser of Debian, which tests of the web console drive. */
export const chromium = '/usr/bin/chromium';

/** The repository's own root. */
export const repository = join(import.meta.dirname, '..');

/** Options for `test()`: skips by name with the reason where the host lacks something. */
export function needs(...what: Need[]): { skip?: string } {
  for (const need of what) {
    const reason = missing(need);
    if (reason === undefined) continue;
    if (required().has(need))
      throw new Error(`this host must have the tier ${need} (SLUICE_REQUIRE): ${reason}`);
    return { skip: `${need}: ${reason}` };
  }
  return {};
}

function required(): Set<string> {
  return new Set((process.env.SLUICE_REQUIRE ?? '').split(',').filter((tier) => tier !== ''));
}

const answers = new Map<Need, string | undefined>();

function missing(need: Need): string | undefined {
  if (!answers.has(need)) answers.set(need, look(need));
  return answers.get(need);
}

function look(need: Need): string | undefined {
  switch (need) {
    case 'root':
      return process.getuid?.() === 0 ? undefined : 'not root';
    case 'shared-data':
      return existsSync(sharedData) ? undefined : 'no ../shared/data beside the project';
    case 'containers':
      return missing('podman') ?? containersRun();
    case 'browser':
      return existsSync(chromium) ? undefined : `${chromium} is not installed`;
    case 'loop':
      return missing('root') ?? loopMissing();
    case 'systemd':
      return systemdMissing();
    case 'kubelet':
      return kubeletMissing();
    default:
      return onPath(need) ? undefined : `${need} is not installed`;
  }
}

function loopMissing(): string | undefined {
  const probe = spawnSync('losetup', ['--find'], { encoding: 'utf8' });
  return probe.status === 0 ? undefined : `no loop devices: ${(probe.stderr ?? '').trim()}`;
}

/** Building a kubelet and a scheduler takes minutes, and running them changes the host's network: only when asked. */
function kubeletMissing(): string | undefined {
  if (process.env.SLUICE_TEST_CLUSTER === undefined) return 'opt-in: npm run test:cluster';
  return missing('root') ?? missing('go') ?? missing('containerd') ?? missing('ip') ?? missing('busybox');
}

function containersRun(): string | undefined {
  // Asking podman is no answer; a container that runs is.
  if (!existsSync('/bin/busybox')) return 'busybox-static is not installed';
  const rootfs = mkdtempSync(join(tmpdir(), 'sluice-probe-'));
  copyFileSync('/bin/busybox', join(rootfs, 'busybox'));
  const limits = ['--ulimit', 'nofile=1024:20000', '--ulimit', 'nproc=1000:1000'];
  const probe = spawnSync(
    'podman',
    [
      '--runtime',
      'runc',
      'run',
      '--rm',
      '--network',
      'host',
      ...limits,
      '--rootfs',
      rootfs,
      '/busybox',
      'true',
    ],
    { encoding: 'utf8', timeout: 60_000 },
  );
  rmSync(rootfs, { recursive: true, force: true });
  return probe.status === 0 ? undefined : `podman cannot run a container: ${probe.stderr.trim().slice(-200)}`;
}

function onPath(program: string): boolean {
  return (process.env.PATH ?? '').split(delimiter).some((directory) => {
    try {
      accessSync(join(directory, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

/** `./test tiers`: what CI may require of this host. */
if (import.meta.main) {
  const tiers: readonly Need[] = [
    'browser',
    'containers',
    'docker-registry',
    'go',
    'gpg',
    'kubectl',
    'loop',
    'mkfs.btrfs',
    'mkfs.ext4',
    'mkfs.xfs',
    'mksquashfs',
    'skopeo',
    'systemd',
    'xorriso',
  ];
  process.stdout.write(`${tiers.filter((tier) => missing(tier) === undefined).join(',')}\n`);
}
