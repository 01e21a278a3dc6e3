import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { writeDurable } from '../durable/file.ts';
import type { OsDriver } from '../finalize/driver.ts';

/** Where rpm-ostree, bootc, skopeo and podman look for the certificates of a registry (containers-certs.d(5)). */
export const containersCerts = '/etc/containers/certs.d';

export interface RegistryCertificates {
  /** What holds a directory for each `host:port`. */
  readonly directory: string;
  /** `host:port` of each registry that may be asked. */
  readonly hosts: () => Promise<readonly string[]>;
  /** This node's own, as files, since they are renewed. */
  readonly files: { readonly ca: string; readonly cert: string; readonly key: string };
}

/**
 * A driver whose program pulls from the cluster's registries as the node itself: by its client certificate, believing the
 * cluster's authority. The files are copied before each pull, so that those that were renewed are used.
 */
export function withRegistryCertificates(driver: OsDriver, certificates: RegistryCertificates): OsDriver {
  return {
    ...driver,
    async stage(...of) {
      await writeCertificates(certificates);
      await driver.stage(...of);
    },
  };
}

/** Errors: those of the file system, and of `hosts`. */
export async function writeCertificates({ directory, hosts, files }: RegistryCertificates): Promise<void> {
  for (const host of await hosts()) {
    const place = join(directory, host);
    for (const [from, name, mode] of [
      [files.ca, 'ca.crt', 0o644],
      [files.cert, 'client.cert', 0o644],
      [files.key, 'client.key', 0o600],
    ] as const) {
      const wanted = await readFile(from);
      const standing = await readFile(join(place, name)).catch(() => undefined);
      if (standing?.equals(wanted) !== true) await writeDurable(join(place, name), wanted, { mode });
    }
  }
}
