import { accessSync, constants, existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { SluiceError } from '../errors/error.ts';
import { bootcDriver } from '../finalize/bootc.ts';
import type { OsDriver } from '../finalize/driver.ts';
import { noImageDriver } from '../finalize/no-image.ts';
import { rpmOstreeDriver } from '../finalize/rpm-ostree.ts';
import { bootSimulated, simulatedDriver } from '../finalize/simulated.ts';
import type { PullHosts } from './pull-hosts.ts';
import {
  containersCerts,
  type RegistryCertificates,
  withRegistryCertificates,
} from './registry-certificates.ts';

/** The exit code by which a node of the `simulated` driver asks its supervisor for a boot with a new boot id. */
export const rebootExitCode = 133;

const osDriverNames = ['auto', 'rpm-ostree', 'bootc', 'none', 'simulated'] as const;
export type OsDriverName = (typeof osDriverNames)[number];

export interface OsDriverOptions {
  /** Where the simulated driver keeps its system. */
  readonly osDir: string;
  readonly bootId: string;
  readonly reboot: () => void;
  readonly pull: (image: string) => Promise<{ version?: string }>;
  /** The registries of the cluster, and this node's certificates, by which real drivers pull from there. */
  readonly cluster?: { readonly hosts: PullHosts; readonly tlsFiles: RegistryCertificates['files'] };
}

/**
 * The driver by its name; `auto` is what this host was booted by. A node of a cluster that was booted by neither takes
 * no OS image and does the rest. Errors: NotFound where a host without a cluster was booted by neither.
 */
export async function createOsDriver(name: OsDriverName, options: OsDriverOptions): Promise<OsDriver> {
  const { cluster } = options;
  const from = cluster === undefined ? {} : { pullFrom: cluster.hosts.holding };
  const real = (driver: OsDriver) =>
    cluster === undefined
      ? driver
      : withRegistryCertificates(driver, {
          directory: containersCerts,
          hosts: cluster.hosts.all,
          files: cluster.tlsFiles,
        });
  switch (name === 'auto' ? bootedBy(cluster !== undefined) : name) {
    case 'none':
      return noImageDriver();
    case 'rpm-ostree':
      return real(rpmOstreeDriver(from));
    case 'bootc':
      return real(bootcDriver(from));
    default:
      await bootSimulated(options.osDir, options.bootId);
      return simulatedDriver({ dir: options.osDir, pull: options.pull, reboot: options.reboot });
  }
}

/** Both commands can be there; rpm-ostree then knows more of what is staged. */
function bootedBy(inCluster: boolean): 'rpm-ostree' | 'bootc' | 'none' {
  if (existsSync('/run/ostree-booted')) {
    if (onPath('rpm-ostree')) return 'rpm-ostree';
    if (onPath('bootc')) return 'bootc';
  }
  if (inCluster) return 'none';
  throw new SluiceError('NotFound', 'this host was not booted by rpm-ostree or bootc', {
    next: 'Name the driver: --os-driver rpm-ostree, bootc, or simulated for a rehearsal.',
  });
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
