/**
 * Makes the container image of the single-file program: `npm run image -- --base IMAGE`. It lies in dist/ then, as an
 * OCI archive, from where `bundle build --with-sluice` takes it along.
 */
import { randomBytes } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { copyFile, mkdir, readdir, rm, stat, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { parseArgs } from 'node:util';
import { comparePaths, packTar, type TarEntry } from '../src/build/tar.ts';
import { SluiceError } from '../src/errors/error.ts';
import { runOrThrow } from '../src/process/run.ts';
import { noticesFile } from '../src/program/files.ts';
import { repository } from '../tests/tier.ts';
import { runScript } from './script.ts';
import { writeSums } from './sums.ts';

const defaultBase = 'docker.io/library/debian:bookworm-slim';
const localBase = 'localhost/base:latest';
const buildMs = 10 * 60_000;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      base: { type: 'string', default: defaultBase },
      out: { type: 'string', default: join(repository, 'dist') },
      arch: { type: 'string', default: process.arch },
    },
  });
  const { out, arch, base } = values;
  const program = (await readdir(out).catch(() => [])).find(
    (name) => name.startsWith('sluice-') && name.endsWith(`-linux-${arch}`),
  );
  const version = program?.slice('sluice-'.length, -`-linux-${arch}`.length);
  if (program === undefined || version === undefined) {
    throw new SluiceError('NotFound', `${out} has no program for ${arch}`, {
      next: 'Make it first: npm run package.',
    });
  }
  const scratch = join(tmpdir(), `sluice-image-${randomBytes(6).toString('hex')}`);
  await mkdir(scratch, { mode: 0o700 });
  try {
    const context = join(scratch, 'context');
    await mkdir(context);
    await copyFile(join(out, program), join(context, 'sluice'));
    await copyFile(join(out, noticesFile), join(context, noticesFile));
    await copyFile(join(repository, 'LICENSE'), join(context, 'LICENSE'));
    const said = await runOrThrow(join(out, program), ['--version', '-o', 'json']).catch(() => undefined);
    const commit = said === undefined ? 'unknown' : (JSON.parse(said.stdout) as { commit: string }).commit;
    // A store of its own: nothing is left on the machine, and nothing of it comes in.
    const store = [
      '--root',
      join(scratch, 'store'),
      '--runroot',
      join(scratch, 'run'),
      '--storage-driver',
      'vfs',
    ];
    const buildah = (...words: string[]) =>
      runOrThrow('buildah', [...store, ...words], {
        timeoutMs: buildMs,
        env: { ...process.env, TMPDIR: scratch },
      });
    // The name of the base is kept in the image. A layout or archive gets one of ours, since a path is none.
    const place = await linkTo(base, scratch);
    const pulled = (await buildah('pull', '--quiet', place ?? base)).stdout.trim();
    if (place !== undefined) {
      const { stdout } = await buildah('images', '--format', '{{.Name}}:{{.Tag}}');
      await buildah('tag', pulled, localBase);
      await buildah('rmi', ...stdout.trim().split('\n'));
    }
    const facts = [
      `BASE=${place === undefined ? base : localBase}`,
      `VERSION=${version}`,
      `COMMIT=${commit}`,
    ];
    await buildah(
      ...[
        'build',
        '--quiet',
        '--isolation',
        'chroot',
        '--format',
        'oci',
        '--pull-never',
        '--timestamp',
        '0',
        '--tag',
        'sluice',
      ],
      ...['--arch', arch === 'x64' ? 'amd64' : arch, ...facts.flatMap((fact) => ['--build-arg', fact])],
      ...['--file', join(repository, 'deploy', 'container', 'Containerfile'), context],
    );
    const layout = join(scratch, 'layout');
    await buildah('push', '--quiet', 'sluice', `oci:${layout}:${version}`);
    const archive = join(out, `sluice-${version}-image-linux-${arch}.oci.tar`);
    await rm(archive, { force: true });
    await pipeline(packTar(layoutEntries(layout)), createWriteStream(archive, { flush: true }));
    await writeSums(out);
    process.stderr.write(`${archive}\n`);
  } finally {
    // Layers of others may have files that their owner may not change.
    await rm(scratch, { recursive: true, force: true });
  }
}

/**
 * A layout or archive under a link of ours: buildah makes names of paths, and takes no capitals in names. Undefined
 * where the base is in a registry.
 */
async function linkTo(base: string, scratch: string): Promise<string | undefined> {
  const [, transport, path, reference] =
    /^(oci|oci-archive|docker-archive|dir):([^:]+)(.*)$/.exec(base) ?? [];
  if (path === undefined) return undefined;
  await symlink(resolve(path), join(scratch, 'base'));
  return `${transport}:${join(scratch, 'base')}${reference}`;
}

/** The layout as an archive whose bytes say nothing of when and where it was written. */
async function* layoutEntries(layout: string): AsyncGenerator<TarEntry> {
  const entries = await readdir(layout, { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(layout, join(entry.parentPath, entry.name)));
  for (const path of paths.sort(comparePaths)) {
    const content = join(layout, path);
    yield { kind: 'file', path, mode: 0o644, size: (await stat(content)).size, content };
  }
}

await runScript(main);
