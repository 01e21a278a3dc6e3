import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import type { AnyObject } from '../api/core.ts';
import { messageOf, SluiceError } from '../errors/error.ts';
import type { KubeClient } from '../kube/client.ts';
import { conditionIs } from '../kube/conditions.ts';
import { isAlreadyExists } from '../kube/error.ts';
import { waitFor } from '../kube/wait.ts';

const filesMax = 10_000;
const bytesMax = 256 * 1024 * 1024;
const depthMax = 8;

/**
 * The objects of a cluster as files hold them: YAML or JSON, single, several in a file, or lists as `kubectl get -o
 * yaml` and must-gather write them, in folders of any shape.
 *
 * Errors: NotFound, InputInvalid (naming the file), InputTooLarge.
 */
export async function readRecorded(directory: string): Promise<AnyObject[]> {
  const objects: AnyObject[] = [];
  let bytes = 0;
  const files = await filesOf(directory);
  for (const file of files) {
    const text = await readFile(file, 'utf8');
    bytes += text.length;
    if (bytes > bytesMax)
      throw new SluiceError('InputTooLarge', `${directory} holds more than ${bytesMax} bytes`);
    for (const document of parseAllDocuments(text)) {
      const [error] = document.errors;
      if (error !== undefined) throw new SluiceError('InputInvalid', `${file}: ${error.message}`);
      objects.push(...flattened(document.toJS({ maxAliasCount: 100 }), file));
    }
  }
  return objects;
}

async function filesOf(directory: string): Promise<string[]> {
  try {
    const entries = await readdir(directory, { recursive: true, withFileTypes: true });
    const files = entries
      .filter((entry) => entry.isFile() && /\.(?:ya?ml|json)$/.test(entry.name))
      .map((entry) => join(entry.parentPath, entry.name))
      .sort();
    const isDeep = files.some((file) => file.slice(directory.length).split('/').length > depthMax + 1);
    if (files.length > filesMax || isDeep) {
      throw new SluiceError(
        'InputTooLarge',
        `${directory} holds more than ${filesMax} files or ${depthMax} levels`,
      );
    }
    return files;
  } catch (error) {
    if (error instanceof SluiceError) throw error;
    throw new SluiceError('NotFound', `${directory}: ${messageOf(error)}`, { cause: error });
  }
}

function flattened(value: unknown, file: string): AnyObject[] {
  if (value === null || value === undefined) return [];
  const object = value as AnyObject & { items?: unknown };
  if (typeof object.kind === 'string' && object.kind.endsWith('List') && Array.isArray(object.items)) {
    // Items of a typed list carry no kind of their own.
    const kind = object.kind === 'List' ? undefined : object.kind.slice(0, -'List'.length);
    return object.items.flatMap((item) =>
      flattened(
        { ...(kind === undefined ? {} : { kind, apiVersion: object.apiVersion }), ...(item as object) },
        file,
      ),
    );
  }
  if (
    typeof object.kind !== 'string' ||
    typeof object.apiVersion !== 'string' ||
    object.metadata?.name === undefined
  ) {
    throw new SluiceError('InputInvalid', `${file}: there is something that is no object of a cluster`, {
      next: 'Record them as the API gives them: kubectl get KIND -A -o yaml > kind.yaml.',
    });
  }
  return [object];
}

/** What of the recorded objects an API could not be given, in words. */
export interface LoadProblem {
  readonly object: string;
  readonly message: string;
}

/** Puts recorded objects into an API, definitions first, each with its status. */
export async function loadRecorded(
  client: KubeClient,
  objects: readonly AnyObject[],
): Promise<LoadProblem[]> {
  const problems: LoadProblem[] = [];
  const namespaces = new Set<string>();
  for (const object of [...objects].sort((a, b) => rank(a) - rank(b))) {
    try {
      const { namespace } = object.metadata;
      if (namespace !== undefined && !namespaces.has(namespace)) await ensureNamespace(client, namespace);
      if (namespace !== undefined) namespaces.add(namespace);
      await load(client, object);
    } catch (error) {
      const { namespace, name } = object.metadata;
      const path = [object.kind, namespace, name].filter((part) => part !== undefined).join('/');
      problems.push({ object: path, message: messageOf(error) });
    }
  }
  return problems;
}

const order = ['Namespace', 'CustomResourceDefinition', 'PriorityClass', 'ServiceAccount'];

function rank(object: AnyObject): number {
  const at = order.indexOf(object.kind ?? '');
  return at === -1 ? order.length : at;
}

async function ensureNamespace(client: KubeClient, name: string): Promise<void> {
  const { kinds } = client;
  await once(client.create(kinds.Namespace, { metadata: { name } }));
  await once(client.create(kinds.ServiceAccount, { metadata: { name: 'default', namespace: name } }));
}

async function load(client: KubeClient, object: AnyObject): Promise<void> {
  const kind = await client.resolveKind(object.apiVersion ?? '', object.kind ?? '');
  if (kind === undefined) {
    throw new SluiceError('NotFound', `no API serves ${object.kind} of ${object.apiVersion}`, {
      next: 'Record its CustomResourceDefinition too.',
    });
  }
  const { name, namespace, labels, annotations } = object.metadata;
  const metadata = {
    name,
    ...(namespace === undefined ? {} : { namespace }),
    ...(labels === undefined ? {} : { labels }),
    ...(annotations === undefined ? {} : { annotations }),
  };
  if (kind.kind === 'Pod' && namespace !== undefined) await ensureAccount(client, object, namespace);
  const { status, ...rest } = object;
  let created: AnyObject;
  try {
    created = (await client.create(kind, { ...rest, metadata } as never)) as AnyObject;
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    // What the API made by itself gives way to what was recorded.
    const standing = (await client.get(kind, name, namespace)) as AnyObject;
    created = (await client.update(kind, {
      ...standing,
      ...rest,
      metadata: { ...standing.metadata, ...metadata },
    } as never)) as AnyObject;
  }
  if (kind.kind === 'CustomResourceDefinition') return await established(client, name);
  if (status !== undefined) await client.updateStatus(kind, { ...created, status } as never);
}

/** A Pod is refused without its ServiceAccount, which a recording may have left out. */
async function ensureAccount(client: KubeClient, pod: AnyObject, namespace: string): Promise<void> {
  const spec = pod.spec as { serviceAccountName?: string } | undefined;
  const name = spec?.serviceAccountName ?? 'default';
  await once(client.create(client.kinds.ServiceAccount, { metadata: { name, namespace } }));
}

async function established(client: KubeClient, name: string): Promise<void> {
  const isEstablished = (
    object: { status?: { conditions?: { type: string; status: string }[] } } | undefined,
  ) => conditionIs(object?.status?.conditions, 'Established', 'True');
  await waitFor(client, client.kinds.CustomResourceDefinition, name, isEstablished, { timeoutMs: 20_000 });
}

async function once(creation: Promise<unknown>): Promise<void> {
  try {
    await creation;
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
}
