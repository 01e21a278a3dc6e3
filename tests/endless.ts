import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Digest } from '../src/oci/digest.ts';
import { endContainers } from '../src/workload/probe.ts';
import type { ContainerSpec } from '../src/workload/runner.ts';
import { Closing } from './closing.ts';

/**
 * A directory for a test's containers. What still runs there when the test is over, however that ended, is ended with
 * it; then the directory goes.
 *
 * @param places where below it they are kept, if not in itself.
 */
export function containerDirectory(
  t: TestContext,
  name: string,
  places: (dir: string) => string[] = (dir) => [dir],
): string {
  const dir = mkdtempSync(join(tmpdir(), `sluice-${name}-`));
  const closing = new Closing();
  t.after(() => closing.close());
  closing.add('the directory', () => rmSync(dir, { recursive: true, force: true }));
  for (const place of places(dir)) closing.add('the containers', () => endContainers(place, 0));
  return dir;
}

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
