import type { ImageSource } from '../build/source.ts';
import { type RunningServer, serve } from '../http/server.ts';
import type { Logger } from '../observe/log.ts';
import { createRegistryHandler } from '../registry/handler.ts';
import type { ServedTree } from '../registry/tree.ts';
import { issue, type KeyPair } from '../trust/authority.ts';

/** Serves the images of a source from where they lie, whatever repository is asked for, on a free port of loopback. */
export async function serveImage(
  image: ImageSource,
  authority: KeyPair,
  logger: Logger,
): Promise<RunningServer> {
  const pair = await issue(authority, {
    commonName: 'registry',
    ipAddresses: ['127.0.0.1'],
    usage: 'server',
  });
  const tree = servedImage(image);
  return await serve({
    address: '127.0.0.1',
    port: 0,
    tls: { cert: pair.certPem, key: pair.keyPem },
    handler: createRegistryHandler({ trees: () => [tree], authenticate: async () => 'try', logger }),
  });
}

function servedImage({ content, repository, label }: ImageSource): ServedTree {
  return {
    label,
    kind: 'store',
    hasRepository: async () => true,
    repositories: async () => [],
    manifest: async (_, reference) => await content.manifest(repository, reference),
    async blob(_, digest) {
      const whole = await content.blob(repository, digest);
      if (whole === undefined) return undefined;
      return {
        size: whole.size,
        read: async function* ({ offset, end }) {
          const from = offset === 0 ? whole : await content.blob(repository, digest, { offset });
          let left = end - offset;
          for await (const chunk of from?.stream ?? []) {
            if (left <= 0) return;
            yield chunk.subarray(0, left);
            left -= chunk.length;
          }
        },
        close: async () => {},
      };
    },
    tags: async () => [],
    referrers: async () => [],
    close: async () => {},
  };
}
