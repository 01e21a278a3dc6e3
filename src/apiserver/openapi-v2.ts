import { versionInfo } from './version.ts';

const title = 'Kubernetes';
const swagger = '2.0';

/**
 * A document of OpenAPI v2 that describes nothing: schemas are served as v3. kubectl asks for this one where it finds no
 * schema there, and without an answer it would say that it failed to download it, not that the kind does not exist.
 */
export function emptyOpenApiV2(accept: string | undefined): { type: string; body: string | Buffer } {
  if (!/\bproto-openapi\.spec\.v2\b/.test(accept ?? '')) {
    const document = { swagger, info: { title, version: versionInfo.gitVersion }, paths: {} };
    return { type: 'application/json', body: JSON.stringify(document) };
  }
  // gnostic's openapiv2.Document: 1 swagger, 2 info (1 title, 2 version), 8 paths.
  const info = Buffer.concat([field(1, Buffer.from(title)), field(2, Buffer.from(versionInfo.gitVersion))]);
  return {
    type: 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf',
    body: Buffer.concat([field(1, Buffer.from(swagger)), field(2, info), field(8, Buffer.alloc(0))]),
  };
}

/** A length-delimited field of protobuf, of less than 128 bytes. */
function field(number: number, bytes: Buffer): Buffer {
  return Buffer.concat([Buffer.from([(number << 3) | 2, bytes.length]), bytes]);
}
