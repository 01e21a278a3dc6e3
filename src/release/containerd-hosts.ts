import type { ImageDigestMirrorSet } from '../api/resources.ts';

export interface ContainerdHostsInput {
  readonly sets: readonly ImageDigestMirrorSet[];
  /** Port of the control plane's registries: mirrors elsewhere are others' to set up. */
  readonly registryPort: number;
  /** `host:port` of this node's own registry, asked before the others; absent on nodes that have none. */
  readonly ownHost?: string | undefined;
  /** Absolute paths on the node, as containerd reads them. */
  readonly files: { readonly ca: string; readonly cert: string; readonly key: string };
}

/** The first line of every file of ours; a file without it is somebody else's and is not touched. */
export const containerdHostsMark = '# Written by Sluice from the mirror sets of the cluster.';

/**
 * The files by which containerd takes the control plane's registries for mirrors (containerd, docs/hosts.md): by the
 * host of the source, which is the name of the directory below `config_path`, the text of its `hosts.toml`.
 *
 * Mirrors are for digests alone (`pull` without `resolve`), prove themselves by the cluster's authority, and are shown
 * the node's client certificate: containerd sends a mirror no password. The repository stays that of the source, which
 * is why our registries look for a digest in all of theirs when asked so. After the mirrors containerd asks `server`:
 * the source, or where that is never to be contacted once more a mirror.
 */
export function containerdHosts(input: ContainerdHostsInput): Map<string, string> {
  const hosts = new Map<string, { mirrors: Set<string>; sourceAllowed: boolean }>();
  for (const set of input.sets) {
    for (const { source, mirrors, mirrorSourcePolicy } of set.spec.imageDigestMirrors ?? []) {
      const ours = (mirrors ?? []).map(hostOf).filter((host) => host.endsWith(`:${input.registryPort}`));
      const host = hostOf(source);
      if (ours.length === 0 || !hostForm.test(host)) continue;
      const known = hosts.get(host) ?? { mirrors: new Set<string>(), sourceAllowed: false };
      for (const mirror of ours) known.mirrors.add(mirror);
      known.sourceAllowed ||= mirrorSourcePolicy !== 'NeverContactSource' && !ours.includes(host);
      hosts.set(host, known);
    }
  }
  return new Map(
    [...hosts].map(([host, { mirrors, sourceAllowed }]) => [
      host,
      fileOf(host, [...mirrors], sourceAllowed, input),
    ]),
  );
}

/** Names a directory: no path, no wildcard, no literal of IPv6, which containerd cannot have there. */
const hostForm = /^[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?(?::[0-9]{1,5})?$/;

function hostOf(name: string): string {
  return name.split('/')[0] ?? '';
}

function fileOf(
  host: string,
  mirrors: readonly string[],
  sourceAllowed: boolean,
  { ownHost, files }: ContainerdHostsInput,
): string {
  const ordered = [
    ...mirrors.filter((each) => each === ownHost),
    ...mirrors.filter((each) => each !== ownHost),
  ];
  const proof = [
    'capabilities = ["pull"]',
    `ca = ${quoted(files.ca)}`,
    `client = [[${quoted(files.cert)}, ${quoted(files.key)}]]`,
  ];
  const source = host === 'docker.io' ? 'registry-1.docker.io' : host;
  const last = sourceAllowed
    ? [`server = ${quoted(`https://${source}`)}`]
    : [`server = ${quoted(`https://${ordered[0]}`)}`, ...proof];
  const tables = ordered.flatMap((mirror) => ['', `[host.${quoted(`https://${mirror}`)}]`, ...proof]);
  return `${[containerdHostsMark, ...last, ...tables].join('\n')}\n`;
}

/** A TOML basic string: that of JSON, for what stands here. */
function quoted(text: string): string {
  return JSON.stringify(text);
}
