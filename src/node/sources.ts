import { SluiceError } from '../errors/error.ts';
import { type HttpClient, hostPort } from '../http/client.ts';
import type { Clock } from '../observe/clock.ts';
import { createRegistryClient } from '../oci/client.ts';
import type { Digest } from '../oci/digest.ts';
import type { ContentSource } from '../oci/source.ts';
import { hopHeader, hopStore } from '../registry/hop.ts';
import type { Store } from '../store/store.ts';
import type { CopySource } from './copy-source.ts';
import { type CopyingPeer, createFanOut, type FanOut } from './fan-out.ts';

/** Turns what a copy may come from into something that can be read. */
export interface Sources {
  /** Errors: MediaLost. */
  contentOf(source: CopySource): ContentSource;
  /** Where the bytes come from media, here or on a peer, nodes share the reading; a peer's disk is fast enough. */
  fanOut(release: string, source: CopySource): FanOut | undefined;
}

const hasTimeoutMs = 5_000;

/** @param of.http speaks as this node to its peers. */
export function createSources(of: {
  readonly nodeName: string;
  readonly store: Store;
  readonly http: HttpClient;
  readonly registryPort: number;
  readonly copying: (release: string, bundleDigest: Digest | undefined) => readonly CopyingPeer[];
  /** Whether other nodes see the release on media of this one. */
  readonly hasMedium: (release: string, bundleDigest: Digest | undefined) => boolean;
  readonly clock: Clock;
}): Sources {
  const { http } = of;
  const urlOf = (address: string) => `https://${hostPort(address, of.registryPort)}`;
  /** A peer answers from what it has itself. */
  const clientOf = (address: string, hop: string) =>
    createRegistryClient({ baseUrl: urlOf(address), http, headers: { [hopHeader]: hop } });
  return {
    contentOf(source) {
      switch (source.kind) {
        case 'store':
          return of.store;
        case 'media': {
          const { media, path } = source.attachment;
          if (media === undefined) throw new SluiceError('MediaLost', `the media at ${path} are gone`);
          return media.content;
        }
        case 'peer':
          return clientOf(source.peer.address, '1');
      }
    },
    fanOut(release, source) {
      const fromMedia = source.kind === 'media' || (source.kind === 'peer' && source.peer.from === 'media');
      if (!fromMedia) return undefined;
      return createFanOut({
        // Its own medium may be damaged, or have come later: others wait for its share then as well.
        self: () => ({
          node: of.nodeName,
          hasMedium: source.kind === 'media' || of.hasMedium(release, source.bundleDigest),
        }),
        peers: () => of.copying(release, source.bundleDigest),
        ...(source.kind === 'peer' ? { holder: source.peer } : {}),
        storeOf: (peer) => clientOf(peer.address, hopStore),
        clock: of.clock,
        async has(peer, blob) {
          try {
            const answer = await http.request({
              method: 'HEAD',
              url: `${urlOf(peer.address)}/v2/${blob.repository}/blobs/${blob.digest}`,
              headers: { [hopHeader]: hopStore },
              signal: AbortSignal.timeout(hasTimeoutMs),
            });
            await answer.discard();
            return answer.status === 200 ? true : answer.status === 404 ? false : undefined;
          } catch {
            return undefined;
          }
        },
      });
    },
  };
}
