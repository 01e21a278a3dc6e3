import { readFile } from 'node:fs/promises';
import { SluiceError } from '../errors/error.ts';
import type { Digest } from '../oci/digest.ts';
import { parseYamlDocuments } from '../payload/yaml.ts';

/**
 * The signatures of a release in a file of ConfigMaps, as oc-mirror writes them (`signature-configmap.yaml`) and
 * `oc get configmaps -n openshift-config-managed -o yaml` prints them: every key of `binaryData` that begins with the
 * release's digest, in the order of the keys.
 *
 * Errors: InputInvalid (no ConfigMap in it, or a signature that is not base64).
 */
export async function readSignatureConfigMaps(path: string, payload: Digest): Promise<Uint8Array[]> {
  const documents = parseYamlDocuments(await readFile(path), path).map(record);
  const objects = documents.flatMap((each) => (Array.isArray(each.items) ? each.items.map(record) : [each]));
  const maps = objects.filter((each) => each.kind === 'ConfigMap');
  if (maps.length === 0) {
    throw new SluiceError('InputInvalid', `${path} holds no ConfigMap`, {
      next: 'Give a directory or an address with sha256=<hex>/signature-1, or a file of ConfigMaps.',
    });
  }
  const prefix = payload.replace(':', '-');
  const found: Uint8Array[] = [];
  for (const map of maps) {
    for (const [name, value] of Object.entries(record(map.binaryData)).sort(([a], [b]) => (a < b ? -1 : 1))) {
      if (name.startsWith(prefix)) found.push(decode(value, `${path}: binaryData.${name}`));
    }
  }
  return found;
}

function decode(value: unknown, where: string): Uint8Array {
  const text = typeof value === 'string' ? value.replace(/\s/g, '') : '';
  if (text !== '' && /^[A-Za-z0-9+/]+={0,2}$/.test(text)) return Buffer.from(text, 'base64');
  throw new SluiceError('InputInvalid', `${where} is not base64`);
}

function record(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}
