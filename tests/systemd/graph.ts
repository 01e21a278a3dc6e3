import { serve } from '../../src/http/server.ts';

/** A Cincinnati graph in zincati's format, served for hosts: each version leads to the next. */
export async function serveGraph(): Promise<{
  readonly port: number;
  /** Checksums in the order of their releases. */
  set(releases: readonly (readonly [checksum: string, version: string])[]): void;
  /** Releases are images of this repository instead of commits. */
  images(repository: string): void;
  readonly asked: URL[];
  close(): Promise<void>;
}> {
  let releases: readonly (readonly [string, string])[] = [];
  let repository: string | undefined;
  const asked: URL[] = [];
  const server = await serve({
    address: '0.0.0.0',
    port: 0,
    handler(request, response) {
      asked.push(new URL(request.url ?? '/', 'http://graph'));
      const nodes = releases.map(([payload, version], index) => ({
        version,
        payload: repository === undefined ? payload : `${repository}@sha256:${payload}`,
        metadata: {
          'org.fedoraproject.coreos.scheme': repository === undefined ? 'checksum' : 'oci',
          'org.fedoraproject.coreos.releases.age_index': String(index),
        },
      }));
      const edges = releases.slice(1).map((_, index) => [index, index + 1]);
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ nodes, edges }));
    },
  });
  return {
    port: server.port,
    set: (next) => {
      releases = next;
    },
    images: (of) => {
      repository = of;
    },
    asked,
    close: () => server.close(0),
  };
}
