import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Digest } from '../src/oci/digest.ts';
import type { ContainerSpec } from '../src/workload/runner.ts';

/** A container that runs for ever, of an image that is put there without a registry. */
export function endless(dir: string): ContainerSpec {
  const image: Digest = `sha256:${'a'.repeat(64)}`;
  const place = join(dir, 'sandbox', 'images', 'a'.repeat(64));
  mkdirSync(join(place, 'rootfs'), { recursive: true });
  copyFileSync('/bin/busybox', join(place, 'rootfs', 'busybox'));
  const info = { digest: image, user: '', entrypoint: [], cmd: [], env: [], workingDir: '' };
  writeFileSync(join(place, 'image.json'), JSON.stringify(info));
  return {
    podUid: 'pod',
    podName: 'pod',
    podNamespace: 'default',
    container: 'main',
    attempt: 0,
    image,
    argv: ['/busybox', 'sh', '-c', 'while :; do /busybox sleep 0.1; done'],
    env: [],
    workingDir: '',
    readOnlyRoot: false,
    noNewPrivileges: true,
    capabilities: { add: [], drop: [] },
    mounts: [],
    terminationPath: '/dev/termination-log',
    logPath: join(dir, 'log'),
    logBytesMax: 10_000,
  };
}
