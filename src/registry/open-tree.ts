import { readFile } from 'node:fs/promises';
import { openBundle } from '../bundle/bundle.ts';
import { createHttpClient } from '../http/client.ts';
import { openMedia } from '../media/media.ts';
import type { Logger } from '../observe/log.ts';
import { createRegistryClient } from '../oci/client.ts';
import type { TrustedKey } from '../trust/keys.ts';
import { hopHeader } from './hop.ts';
import { storeTree } from './store-tree.ts';
import type { ServedTree } from './tree.ts';
import type { TreeEntry } from './tree-file.ts';
import { openVerifiedTree } from './verified-tree.ts';

/** Files with which this registry speaks to those of other nodes. */
export interface PeerIdentity {
  readonly certFile?: string;
  readonly keyFile?: string;
  readonly caFile?: string;
  /** The name in the peers' certificates: they are dialled by address. */
  readonly servername: string;
}

/**
 * Opens what a line of `trees.json` names. Media and peers are foreign: the signature of the very bundle is
 * verified before anything of it is served.
 *
 * Errors: those of `openMedia`, `openBundle` and `openVerifiedTree`.
 */
export async function openServedTree(
  entry: TreeEntry,
  how: { keys: () => Promise<readonly TrustedKey[]>; peer: PeerIdentity; logger: Logger },
): Promise<ServedTree> {
  const { logger } = how;
  switch (entry.kind) {
    case 'store':
      return storeTree(entry.path);
    case 'media': {
      const media = await openMedia(entry.path);
      const { content } = media;
      return await verified('media', content, entry, how, () => media.close());
    }
    case 'peer': {
      const http = createHttpClient({
        servername: how.peer.servername,
        ...(await optional('ca', how.peer.caFile)),
        ...(await optional('cert', how.peer.certFile)),
        ...(await optional('key', how.peer.keyFile)),
      });
      const content = createRegistryClient({ baseUrl: entry.url, http, headers: { [hopHeader]: '1' } });
      logger.debug({ url: entry.url }, 'a peer is asked for its bundle');
      return await verified('peer', content, entry, how, () => http.close());
    }
  }
}

async function verified(
  kind: 'media' | 'peer',
  content: Parameters<typeof openVerifiedTree>[0]['content'],
  entry: Exclude<TreeEntry, { kind: 'store' }>,
  how: { keys: () => Promise<readonly TrustedKey[]>; logger: Logger },
  release: () => Promise<void>,
): Promise<ServedTree> {
  try {
    const bundle = await openBundle(content, { digest: entry.bundleDigest }, await how.keys());
    return await openVerifiedTree({ kind, content, bundle, logger: how.logger, release });
  } catch (error) {
    await release();
    throw error;
  }
}

async function optional<K extends string>(
  name: K,
  path: string | undefined,
): Promise<Partial<Record<K, string>>> {
  if (path === undefined) return {};
  return { [name]: await readFile(path, 'utf8') } as Partial<Record<K, string>>;
}
