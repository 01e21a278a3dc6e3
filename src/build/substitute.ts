import { SluiceError } from '../errors/error.ts';
import { flowEnds } from '../payload/yaml.ts';

// What `oc adm release new` does to the manifests of operators, by the same rules, so that operators written for
// it need no change: pull specs of the source become pull specs by digest, and `0.0.1-snapshot` the version. One rule
// more: a pull spec in flow style ends where YAML ends it, which `oc` leaves unpinned.

/** In manifests: replaced by the version of the release, or with `-<component>` by that component's. */
const snapshot = /(?<![\w.])0\.0\.1-snapshot(?:-([a-z0-9-]*))?(?!\w)/g;
/** Hosts by which operators say that a name means nothing outside the build. */
const placeholderHost = /^placeholder\.url\.oc\.will\.replace\.this[./:]/;

/** A version of a component, or undefined where several images say different ones. */
export type ComponentVersions = ReadonlyMap<string, string | undefined>;

/** Whether a source pull spec names no real repository. */
export function isPlaceholder(spec: string): boolean {
  return placeholderHost.test(spec);
}

/**
 * Replaces the pull specs of an operator's `image-references`. One is found where it stands alone, with no tag, a
 * tag or a digest: after anything but a letter, a digit or what continues a name, and before white space, a quote, the
 * end, or what ends a plain scalar in flow style. Where two specs would fit, the longer counts.
 *
 * @param images source pull spec → pull spec by digest
 */
export function substituteImages(text: string, images: ReadonlyMap<string, string>): string {
  if (images.size === 0) return text;
  const specs = [...images.keys()].sort((a, b) => b.length - a.length || (a < b ? -1 : 1));
  const pattern = new RegExp(
    `(?:(?<![\\w./@-])|(?<=//))(${specs.map(escapePattern).join('|')})` +
      `(?::\\w[\\w.-]{0,127}|@[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9A-Fa-f]{2,})?(?=[\\s"',\\]}]|$)`,
    'g',
  );
  let ends: Set<number> | undefined;
  return text.replace(pattern, (whole: string, spec: string, offset: number) => {
    const after = offset + whole.length;
    if (',]}'.includes(text[after] ?? ' ')) {
      ends ??= flowEnds(text);
      if (!ends.has(after)) return whole;
    }
    return images.get(spec) ?? whole;
  });
}

/**
 * Replaces the placeholders of versions. Errors: ReferenceUnresolved (unknown component, or images that disagree).
 *
 * @param where the file, for messages
 */
export function substituteVersions(
  text: string,
  release: string,
  components: ComponentVersions,
  where: string,
): string {
  const version = release.replace(/\+.*$/, '');
  return text.replace(snapshot, (_, component: string | undefined) => {
    if (component === undefined) return version;
    const found = components.get(component);
    if (found !== undefined) return found;
    const why = components.has(component)
      ? `the images say different versions of ${component}`
      : component === ''
        ? 'it names no component'
        : `no image says a version of ${component}`;
    throw new SluiceError('ReferenceUnresolved', `${where}: 0.0.1-snapshot-${component}: ${why}`, {
      next: 'Put it into the label io.openshift.build.versions of one image, as name=version.',
    });
  });
}

/** A placeholder that is left in a manifest: it would be pulled from nowhere. */
export function leftPlaceholder(text: string): string | undefined {
  return /placeholder\.url\.oc\.will\.replace\.this[^\s"']*/.exec(text)?.[0];
}

function escapePattern(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&');
}
