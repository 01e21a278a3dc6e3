import { createCipheriv } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buildImage, type ImageFile } from '../src/build/image.ts';
import { messageOf, SluiceError } from '../src/errors/error.ts';
import { openLayout } from '../src/oci/layout.ts';
import type { Descriptor } from '../src/oci/manifest.ts';
import { run } from '../src/process/run.ts';

const programs = join(import.meta.dirname, 'programs');
const architecture = process.arch === 'arm64' ? 'arm64' : 'amd64';

/** Names of the tools of busybox that the programs call. */
const applets = [
  'sh',
  'cat',
  'cp',
  'cut',
  'date',
  'echo',
  'ls',
  'mkdir',
  'printf',
  'sed',
  'sha256sum',
  'sleep',
  'tr',
  'wc',
];

/** Bytes of the operating system image's one big file: enough for a progress bar to be seen. */
const osBytes = 48 * 1024 * 1024;

/** The images of both releases, in one OCI layout. The references are `<release>-<tag>`. */
export interface DemoImages {
  readonly layout: string;
  source(reference: string): string;
}

/** Builds every image of the demo from this machine's own busybox and curl. */
export async function buildImages(layout: string, releases: readonly string[]): Promise<DemoImages> {
  const base = await buildImage({
    out: { directory: layout, reference: 'base' },
    architecture,
    files: await baseFiles(),
    config: { env: ['PATH=/usr/bin:/bin'], user: '1001' },
  });
  for (const release of releases) {
    for (const name of ['network', 'cache'])
      await onBase(layout, base, `${release}-${name}-operator`, 'operator');
    await onBase(layout, base, `${release}-cache-check`, 'check');
    await osImage(layout, release);
  }
  return { layout, source: (reference) => `oci:${layout}:${reference}` };
}

async function onBase(layout: string, base: Descriptor, reference: string, program: string): Promise<void> {
  await buildImage({
    out: { directory: layout, reference },
    architecture,
    base: { content: await openLayout(layout), repository: '', digest: base.digest },
    files: [
      { path: `/usr/bin/${program}`, mode: 0o755, from: join(programs, `${program}.sh`) },
      { path: '/usr/libexec/api.sh', from: join(programs, 'api.sh') },
      // Two operators of one program are still two images.
      { path: '/etc/image', data: `${reference}\n` },
    ],
  });
}

async function osImage(layout: string, release: string): Promise<void> {
  await buildImage({
    out: { directory: layout, reference: `${release}-node-os` },
    architecture,
    files: [
      { path: '/usr/lib/os-release', data: `NAME="Demo node"\nVERSION_ID=${release}\n` },
      { path: '/usr/lib/modules/vmlinuz', data: noise(release, osBytes) },
    ],
    config: {
      labels: {
        'containers.bootc': '1',
        'ostree.linux': '6.1.0-41',
        'org.opencontainers.image.version': release,
      },
    },
  });
}

/** Bytes that do not compress and are the same each time: AES in counter mode over zeros. */
function noise(seed: string, bytes: number): Uint8Array {
  const cipher = createCipheriv('aes-128-ctr', Buffer.alloc(16, seed), Buffer.alloc(16));
  return cipher.update(Buffer.alloc(bytes));
}

/** busybox, and curl with the libraries that its loader names. */
async function baseFiles(): Promise<ImageFile[]> {
  const files: ImageFile[] = [
    { path: '/usr/bin/busybox', mode: 0o755, from: '/bin/busybox' },
    { path: '/usr/bin/curl', mode: 0o755, from: '/usr/bin/curl' },
    { path: '/etc/passwd', data: 'root:x:0:0:root:/:/bin/sh\ndemo:x:1001:1001:demo:/:/bin/sh\n' },
    { path: '/bin', target: 'usr/bin' },
    { path: '/tmp/.keep', data: '' },
    ...applets.map((applet) => ({ path: `/usr/bin/${applet}`, target: 'busybox' })),
  ];
  for (const library of await librariesOf('/usr/bin/curl')) {
    files.push({ path: library, mode: 0o755, from: library });
  }
  return files;
}

/** The files that the loader maps for a program, by ldd(1). */
async function librariesOf(program: string): Promise<string[]> {
  const { code, stdout, stderr } = await run('ldd', [program]).catch((error) => {
    throw new SluiceError(
      'CommandFailed',
      `the libraries of ${program} cannot be listed: ${messageOf(error)}`,
    );
  });
  if (code !== 0) throw new SluiceError('CommandFailed', `ldd ${program}: ${stderr.trim()}`);
  const paths = [...stdout.matchAll(/(?:=> )?(\/[^\s]+) \(0x/g)].map((match) => match[1] ?? '');
  await Promise.all(paths.map((path) => readFile(path)));
  return [...new Set(paths)];
}
