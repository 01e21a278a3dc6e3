import { stringify } from 'smol-toml';
import type { ImageDigestMirrorSet } from '../api/resources.ts';

/**
 * What mirror sets mean to podman, skopeo, buildah and CRI-O (containers-registries.conf(5), version 2), for hosts whose
 * files no machine-config operator writes. Mirrors serve digests only; a source that is never to be contacted is
 * blocked, which does not block its mirrors.
 *
 * @returns the text of a file for /etc/containers/registries.conf.d.
 */
export function registriesConf(sets: readonly ImageDigestMirrorSet[]): string {
  const registries = new Map<string, { mirrors: Set<string>; blocked: boolean }>();
  for (const entry of sets.flatMap((set) => set.spec.imageDigestMirrors ?? [])) {
    const known = registries.get(entry.source) ?? { mirrors: new Set(), blocked: false };
    for (const mirror of entry.mirrors ?? []) known.mirrors.add(mirror);
    known.blocked ||= entry.mirrorSourcePolicy === 'NeverContactSource';
    registries.set(entry.source, known);
  }
  const registry = [...registries]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([source, { mirrors, blocked }]) => ({
      // A wildcard is a prefix without a place of its own.
      ...(source.startsWith('*.') ? { prefix: source } : { location: source }),
      ...(blocked ? { blocked } : {}),
      mirror: [...mirrors].map((location) => ({ location, 'pull-from-mirror': 'digest-only' })),
    }));
  return `${stringify({ registry })}\n`;
}
