import { SluiceError } from '../errors/error.ts';
import { isTag } from '../oci/reference.ts';

/** A place in an OCI image layout, as `oci:DIR:REF` names it. */
export interface LayoutTarget {
  readonly directory: string;
  readonly reference: string;
}

/** Reads `oci:DIR:REF`, where something is to be written. Errors: Usage. */
export function parseLayoutTarget(text: string): LayoutTarget {
  const { kind, path, reference } = splitPlace(text);
  if (kind !== 'oci' || reference === '') {
    throw new SluiceError('Usage', `"${text}" does not name an OCI layout and a reference in it`, {
      next: 'Write oci:DIRECTORY:REFERENCE, for instance oci:./release:1.0.0.',
    });
  }
  return { directory: path, reference };
}

/**
 * Reads `oci:DIR[:REF]` or `oci-archive:FILE[:REF]`. A colon in the path is possible where a reference follows.
 * Errors: Usage.
 */
export function splitPlace(text: string): { kind: 'oci' | 'oci-archive'; path: string; reference: string } {
  const match = /^(oci|oci-archive):(.+)$/s.exec(text);
  if (match === null) {
    throw new SluiceError('Usage', `"${text}" is not a source of images`, {
      next: 'Write oci:DIRECTORY[:REFERENCE] or oci-archive:FILE[:REFERENCE].',
    });
  }
  const kind = match[1] === 'oci' ? 'oci' : 'oci-archive';
  const rest = match[2] ?? '';
  const colon = rest.lastIndexOf(':');
  const tail = rest.slice(colon + 1);
  if (colon > 0 && (isTag(tail) || tail === '')) return { kind, path: rest.slice(0, colon), reference: tail };
  return { kind, path: rest, reference: '' };
}
