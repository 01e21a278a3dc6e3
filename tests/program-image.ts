import { join } from 'node:path';
import { runOrThrow } from '../src/process/run.ts';
import { programVersion } from '../src/program/build.ts';
import { systemdBase } from './systemd/base.ts';
import { repository } from './tier.ts';

/**
 * A base of this machine's own making, since nothing can be pulled: what debootstrap makes, without its caches.
 * Answers its source, `oci:DIR:REF`.
 *
 * @param store words for buildah that name a store; `directory` is there already.
 */
export async function makeImageBase(directory: string, store: readonly string[]): Promise<string> {
  const buildah = (...words: string[]) => runOrThrow('buildah', [...store, ...words], { timeoutMs: 300_000 });
  const container = (await buildah('from', 'scratch')).stdout.trim();
  const archive = join(directory, 'base.tar');
  const layout = join(directory, 'base');
  const without = ['var/cache', 'var/lib/apt', 'usr/share/doc', 'usr/share/locale', 'dev'];
  const words = without.map((path) => `--exclude=./${path}`);
  await runOrThrow('tar', ['-C', systemdBase(), '-cf', archive, ...words, '.'], { timeoutMs: 300_000 });
  await buildah('add', '--quiet', container, archive, '/');
  await buildah('commit', '--quiet', container, `oci:${layout}:bookworm`);
  await buildah('rm', container);
  return `oci:${layout}:bookworm`;
}

/** Makes the container image of the program that lies in `dist`, as `npm run image` does; answers its archive. */
export async function buildProgramImage(dist: string, base: string): Promise<string> {
  const words = [join(repository, 'packaging', 'image.ts'), '--out', dist, '--base', base];
  await runOrThrow(process.execPath, words, { timeoutMs: 10 * 60_000 });
  return join(dist, `sluice-${programVersion()}-image-linux-${process.arch}.oci.tar`);
}
