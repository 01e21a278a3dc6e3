import { SluiceError } from '../errors/error.ts';
import { type ImageReference, isTag, parseReference } from '../oci/reference.ts';

/** A place in an OCI image layout, as `oci:DIR:REF` names it. */
export interface LayoutTarget {
  readonly directory: string;
  readonly reference: string;
}

/** Reads `oci:DIR:REF`, where something is to be written. Errors: Usage. */
export function parseLayoutTarget(text: string): LayoutTarget {
  const place = parsePlace(text);
  if (place.kind !== 'oci' || place.reference === '') {
    throw new SluiceError('Usage', `"${text}" does not name an OCI layout and a reference in it`, {
      next: 'Write oci:DIRECTORY:REFERENCE, for instance oci:./release:1.0.0.',
    });
  }
  return { directory: place.path, reference: place.reference };
}

/** Where images are read from. */
export type Place =
  | {
      readonly kind: 'oci' | 'oci-archive' | 'docker-archive';
      readonly path: string;
      readonly reference: string;
    }
  | { readonly kind: 'docker'; readonly image: ImageReference }
  | {
      readonly kind: 'media';
      readonly path: string;
      readonly repository: string;
      readonly reference: string | undefined;
    };

/**
 * Reads `oci:DIR[:REF]`, `oci-archive:FILE[:REF]`, `docker-archive:FILE[:NAME:TAG]`, `docker://HOST/NAME[:TAG][@DIGEST]`
 * or `media:PATH#NAME[:TAG][@DIGEST]`.
 * A colon in the path is possible where a reference follows. Errors: Usage.
 */
export function parsePlace(text: string): Place {
  if (text.startsWith('docker://'))
    return { kind: 'docker', image: parseReference(text.slice('docker://'.length)) };
  if (text.startsWith('media:')) return parseMediaPlace(text);
  const match = /^(oci|oci-archive|docker-archive):(.+)$/s.exec(text);
  if (match === null) {
    throw new SluiceError('Usage', `"${text}" is not a source of images`, {
      next: 'Write docker://HOST/NAME:TAG, oci:DIRECTORY[:REFERENCE], oci-archive:FILE[:REFERENCE], docker-archive:FILE[:NAME:TAG] or media:PATH#NAME[:TAG].',
    });
  }
  const kind = match[1] as 'oci' | 'oci-archive' | 'docker-archive';
  const rest = match[2] ?? '';
  if (kind === 'docker-archive') {
    const colon = rest.indexOf(':');
    return colon <= 0
      ? { kind, path: rest, reference: '' }
      : { kind, path: rest.slice(0, colon), reference: rest.slice(colon + 1) };
  }
  const colon = rest.lastIndexOf(':');
  const tail = rest.slice(colon + 1);
  if (colon > 0 && (isTag(tail) || tail === '')) return { kind, path: rest.slice(0, colon), reference: tail };
  return { kind, path: rest, reference: '' };
}

function parseMediaPlace(text: string): Place {
  const [, path = '', name = ''] = /^media:(.+)#([^#]+)$/s.exec(text) ?? [];
  // As a reference of a registry: names are written the same way.
  if (path === '') {
    throw new SluiceError('Usage', `"${text}" names no image on media`, {
      next: 'Write media:PATH#NAME[:TAG].',
    });
  }
  const { repository, tag, digest } = parseReference(`media.invalid/${name}`);
  return { kind: 'media', path, repository, reference: digest ?? tag };
}
