import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { StatusError } from '../status.ts';
import { decodeProtobuf } from './decode.ts';

/** A field of a message: a number, a text, or the bytes of another message. */
function field(number: number, value: number | string | Buffer): Buffer {
  if (typeof value === 'number') return Buffer.from([number << 3, ...varint(value)]);
  const bytes = Buffer.from(value);
  return Buffer.concat([Buffer.from([(number << 3) | 2, ...varint(bytes.length)]), bytes]);
}

function varint(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  while (rest > 127) {
    bytes.push((rest & 127) | 128);
    rest >>>= 7;
  }
  return [...bytes, rest];
}

function envelope(apiVersion: string, kind: string, raw: Buffer): Buffer {
  const type = Buffer.concat([field(1, apiVersion), field(2, kind)]);
  return Buffer.concat([Buffer.from('k8s\0'), field(1, type), field(2, raw), field(3, ''), field(4, '')]);
}

test('a ConfigMap as kubectl create sends it', () => {
  const metadata = Buffer.concat([
    field(1, 'settings'),
    field(2, ''),
    field(3, 'demo'),
    field(5, ''),
    field(7, 0),
    field(8, Buffer.alloc(0)),
    field(11, Buffer.concat([field(1, 'tier'), field(2, 'one')])),
    field(
      13,
      Buffer.concat([field(1, 'Job'), field(3, 'j'), field(4, 'u'), field(5, 'batch/v1'), field(6, 1)]),
    ),
  ]);
  const entry = (key: string, value: string) => field(2, Buffer.concat([field(1, key), field(2, value)]));
  const raw = Buffer.concat([field(1, metadata), entry('color', 'red'), entry('empty', ''), field(4, 0)]);
  assert.deepEqual(decodeProtobuf(envelope('v1', 'ConfigMap', raw)), {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: {
      name: 'settings',
      namespace: 'demo',
      labels: { tier: 'one' },
      ownerReferences: [{ apiVersion: 'batch/v1', kind: 'Job', name: 'j', uid: 'u', controller: true }],
    },
    data: { color: 'red', empty: '' },
    // A pointer in Go: that it is there means that it was said.
    immutable: false,
  });
});

test('inlined members, quantities and numbers-or-texts have their JSON forms', () => {
  const quantity = field(2, Buffer.concat([field(1, 'cpu'), field(2, field(1, '10m'))]));
  const port = Buffer.concat([field(1, 0), field(2, 8080), field(3, '')]);
  const container = Buffer.concat([
    field(1, 'c'),
    field(8, quantity),
    field(10, field(1, field(2, Buffer.concat([field(1, '/healthz'), field(2, port)])))),
  ]);
  const volume = Buffer.concat([field(1, 'v'), field(2, field(2, Buffer.alloc(0)))]);
  const spec = Buffer.concat([field(1, volume), field(2, container), field(4, 0)]);
  const { spec: read } = decodeProtobuf(envelope('v1', 'Pod', field(2, spec))) as unknown as {
    spec: unknown;
  };
  assert.deepEqual(read, {
    volumes: [{ name: 'v', emptyDir: {} }],
    containers: [
      {
        name: 'c',
        resources: { requests: { cpu: '10m' } },
        livenessProbe: { httpGet: { path: '/healthz', port: 8080 } },
      },
    ],
    terminationGracePeriodSeconds: 0,
  });
});

test('a kind that is not in the list is answered 415, with the way out', () => {
  assert.throws(
    () => decodeProtobuf(envelope('storage.k8s.io/v1', 'CSIDriver', Buffer.alloc(0))),
    (error) => error instanceof StatusError && error.code === 415 && /application\/json/.test(error.message),
  );
});

test('any bytes are read or refused', () => {
  const refused = (bytes: Uint8Array) => {
    try {
      decodeProtobuf(bytes);
    } catch (error) {
      assert.ok(error instanceof StatusError, String(error));
      assert.ok([400, 415].includes(error.code));
    }
  };
  fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), refused), { numRuns: 300 });
  const kinds = fc.constantFrom('Pod', 'ConfigMap', 'Node', 'Secret');
  fc.assert(
    fc.property(kinds, fc.uint8Array({ maxLength: 200 }), (kind, raw) =>
      refused(envelope('v1', kind, Buffer.from(raw))),
    ),
    { numRuns: 500 },
  );
});
