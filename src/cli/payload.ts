import { Command } from 'commander';
import type { BuiltPayload } from '../build/payload.ts';
import type { Payload } from '../payload/payload.ts';
import { inclusionPrefix, profileDefault } from '../payload/profile.ts';
import { assignments, collect, collectList } from './arguments.ts';
import {
  formatFlag,
  formatHelp,
  note,
  paint,
  parseFormat,
  print,
  printObject,
  printTable,
} from './output.ts';
import { registryAccess } from './registry-access.ts';

export function command(): Command {
  const root = new Command('payload').description(
    'Build and inspect release payloads: the image that says what a release consists of.',
  );
  root.addCommand(buildCommand());
  root.addCommand(inspectCommand());
  root.addHelpText(
    'after',
    `
Examples:
  sluice payload build --version 1.1.0 --manifests ./cache --image cache-operator=oci:./images:cache \\
      --out oci:./release:1.1.0
  sluice payload inspect oci:./release:1.1.0`,
  );
  return root;
}

interface BuildOptions {
  version: string;
  previous?: string[];
  manifests: string[];
  image?: string[];
  base?: string;
  repository?: string;
  channels?: string[];
  url?: string;
  authfile?: string;
  ca?: string;
  insecureRegistry?: string[];
  out: string;
  output?: string;
}

function buildCommand(): Command {
  return new Command('build')
    .description("Build a release payload from operators' manifests, as `oc adm release new` does.")
    .requiredOption('--version <version>', 'version of the release')
    .option(
      '--previous <versions>',
      'versions from which an update to it is allowed, separated by commas',
      collectList,
    )
    .requiredOption(
      '--manifests <directory...>',
      "one operator's manifests and image-references; repeatable",
      collect,
    )
    .option(
      '--image <tag=source...>',
      'an image of image-references: oci:DIR:REF, oci-archive:FILE, docker-archive:FILE, docker://HOST/NAME:TAG; repeatable',
      collect,
    )
    .option(
      '--base <source>',
      'the image to put the release upon; one with `cp` where the release has checks',
    )
    .option('--repository <repository>', 'names images whose operators name only a placeholder')
    .option('--channels <channels>', 'channels of the update graph, separated by commas', collectList)
    .option('--url <url>', 'where people read about the release')
    .requiredOption('--out <target>', 'oci:DIR:REF')
    .option('--authfile <file>', 'passwords of registries; default: those of podman login and docker login')
    .option('--ca <file>', 'authorities of registries to believe besides the system')
    .option('--insecure-registry <host...>', 'a registry without TLS; repeatable', collect)
    .option(formatFlag, formatHelp)
    .addHelpText(
      'after',
      `
An image is known in the release by the repository that the operator's image-references names for its tag, and
by the digest of what --image gives. In the manifests every mention of that repository becomes this pull spec, and
0.0.1-snapshot the version. An image of a Pod that has neither a tag there nor a digest ends the build, and so does
a manifest that cannot be read. Files without a run level get 0000_50_<directory>_ before their names.

Example:
  sluice payload build --version 1.1.0 --previous 1.0.0 --manifests ./cache --manifests ./network \\
      --image cache-operator=oci:./images:cache --image network-operator=oci:./images:network \\
      --out oci:./release:1.1.0`,
    )
    .action(async (options: BuildOptions) => build(options));
}

function inspectCommand(): Command {
  return new Command('inspect')
    .description('Show what a release payload holds.')
    .argument('<source>', 'oci:DIR:REF, oci-archive:FILE or docker://HOST/NAME:TAG')
    .option(formatFlag, formatHelp)
    .addHelpText('after', '\nExample:\n  sluice payload inspect oci:./release:1.1.0')
    .action(async (source: string, options: { output?: string }) => inspect(source, options));
}

async function build(options: BuildOptions): Promise<void> {
  const format = parseFormat(options.output);
  const { tmpdir } = await import('node:os');
  const { buildPayload } = await import('../build/payload.ts');
  const { parseLayoutTarget } = await import('../build/target.ts');
  const built = await buildPayload({
    version: options.version,
    previous: options.previous ?? [],
    manifests: options.manifests,
    images: assignments('--image', options.image ?? []),
    channels: options.channels ?? [],
    out: parseLayoutTarget(options.out),
    scratch: tmpdir(),
    access: registryAccess(options),
    ...(options.base === undefined ? {} : { base: options.base }),
    ...(options.repository === undefined ? {} : { repository: options.repository }),
    ...(options.url === undefined ? {} : { url: options.url }),
  });
  const { digest } = built.descriptor;
  for (const warning of warningsOf(built)) note(warning);
  if (format === 'json' || format === 'yaml') {
    const images = Object.fromEntries(built.images);
    const { version, files, excluded, foreign, unnamed, applied } = built;
    return await printObject({ version, digest, images, files, applied, excluded, foreign, unnamed }, format);
  }
  if (format === 'name') return print(digest);
  print(`payload ${built.version} ${paint('green', 'built')}: ${options.out}`);
  print(`  digest      ${digest}`);
  print(`  images      ${built.images.size}`);
  const { count, of, profile } = built.applied;
  print(`  manifests   ${count} of ${of} apply to ${profile}; files: ${built.files.length}`);
}

const namesShown = 20;

function warningsOf({
  excluded,
  foreign,
  unnamed,
}: Pick<BuiltPayload, 'excluded' | 'foreign' | 'unnamed'>): string[] {
  const lines = unnamed.map(
    (tag) =>
      `warning: --image ${tag}=…: no image-references names the tag ${tag}, so no manifest gets this image`,
  );
  for (const { image, of } of foreign.slice(0, namesShown)) {
    lines.push(
      `warning: ${image} is no image of this payload, and ${of} needs it:`,
      `  name it in image-references, or give it to bundle build: --image ${image}=SOURCE`,
    );
  }
  if (foreign.length > namesShown) lines.push(`  and ${foreign.length - namesShown} more such images`);
  if (excluded.length === 0) return lines;
  return [
    ...lines,
    `warning: no cluster will take ${excluded.length === 1 ? 'this object' : `these ${excluded.length} objects`}; the annotation to have is`,
    `  ${inclusionPrefix}${profileDefault}: "true" (or that of another profile)`,
    ...excluded.slice(0, namesShown).map((line) => `  ${line}`),
    ...(excluded.length > namesShown ? [`  and ${excluded.length - namesShown} more`] : []),
  ];
}

async function inspect(source: string, options: { output?: string }): Promise<void> {
  const format = parseFormat(options.output);
  const { tmpdir } = await import('node:os');
  const { createSourceOpener, imageOf } = await import('../build/source.ts');
  const { readPayload } = await import('../payload/payload.ts');
  const opener = createSourceOpener(tmpdir());
  try {
    const opened = await opener.open(source);
    const payload = await readPayload(
      opened.content,
      opened.repository,
      await imageOf(opened, 'the payload'),
    );
    if (format === 'json' || format === 'yaml') return await printObject(asObject(payload), format);
    if (format === 'name') return print(payload.digest);
    showPayload(payload);
  } finally {
    await opener.close();
  }
}

function asObject(payload: Payload): object {
  return {
    version: payload.version,
    digest: payload.digest,
    architecture: payload.architecture,
    previous: payload.previous,
    channels: payload.channels,
    url: payload.url,
    kubernetesVersion: payload.kubernetesVersion,
    images: [...payload.images.values()].map(({ tag, reference }) => ({ tag, reference })),
    manifests: payload.manifests.map(({ file, index, runLevel, component, object }) => ({
      file,
      index,
      runLevel,
      component,
      apiVersion: object.apiVersion,
      kind: object.kind,
      namespace: object.metadata.namespace,
      name: object.metadata.name,
    })),
    problems: payload.problems,
  };
}

function showPayload(payload: Payload): void {
  const facts: [string, string][] = [
    ['Version', `${payload.version} for ${payload.architecture}`],
    ['Digest', payload.digest],
    ['Update from', payload.previous.join(', ') || 'nothing: for new clusters only'],
    ['Channels', payload.channels.join(', ') || 'none'],
    ['Kubernetes', payload.kubernetesVersion ?? 'not said'],
  ];
  for (const [label, value] of facts) print(`${`${label}:`.padEnd(13)}${value}`);
  print('');
  printTable(
    ['IMAGE', 'PULL SPEC'],
    [...payload.images.values()].map((image) => [image.tag, image.reference]),
  );
  print('');
  printTable(
    ['LEVEL', 'COMPONENT', 'KIND', 'NAME', 'FILE'],
    payload.manifests.map(({ runLevel, component, object, file }) => [
      runLevel === undefined ? '-' : String(runLevel).padStart(2, '0'),
      component ?? '-',
      object.kind,
      object.metadata.namespace === undefined
        ? object.metadata.name
        : `${object.metadata.namespace}/${object.metadata.name}`,
      file,
    ]),
  );
  for (const { file, problem } of payload.problems) note(`note: ${file} cannot be used: ${problem}`);
}
