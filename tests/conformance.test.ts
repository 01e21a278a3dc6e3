import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { silentLogger as logger } from '../src/observe/log.ts';
import { digestOf } from '../src/oci/digest.ts';
import { serveRegistry } from '../src/registry/server.ts';
import { openStore } from '../src/store/store.ts';
import { conformanceProgram, runConformance } from './conformance.ts';
import { needs } from './tier.ts';

async function served(store: string, writable: boolean) {
  const server = await serveRegistry({
    storePath: store,
    address: '127.0.0.1',
    port: 0,
    writable,
    peer: { servername: 'unused' },
    trustedKeys: join(store, 'keys'),
    logger,
  });
  return { host: `127.0.0.1:${server.port}`, close: () => server.close() };
}

test('the public conformance suite passes in every category', needs('go'), async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'conformance-'));
  t.after(() => rm(dir, { recursive: true, force: true }));
  const program = await conformanceProgram();
  const registry = await served(join(dir, 'store'), true);
  t.after(registry.close);
  const { code, output } = await runConformance(program, dir, {
    OCI_REGISTRY: registry.host,
    // Beyond what version 1.1 asks for by default: headers, cancelling, several tags in one push.
    OCI_API_BLOBS_UPLOAD_CANCEL: 'true',
    OCI_API_BLOBS_DIGEST_HEADER: 'true',
    OCI_API_MANIFESTS_DIGEST_HEADER: 'true',
    OCI_API_MANIFESTS_TAG_PARAM: 'true',
  });
  const bad = output.split('\n').filter((line) => /: +FAIL$|Error\.*: +[1-9]/.test(line));
  assert.deepEqual(bad, [], output.slice(-3000));
  assert.equal(code, 0, output.slice(-3000));
  for (const area of [
    'Blob push',
    'Blob chunked',
    'Manifest put by tag',
    'Referrers',
    'Tag listing',
    'Blob delete',
  ]) {
    assert.match(output, new RegExp(`${area}\\.*: +Pass`));
  }
});

test('the public conformance suite passes against a registry that is read-only', needs('go'), async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'conformance-'));
  t.after(() => rm(dir, { recursive: true, force: true }));
  const store = await openStore(join(dir, 'store'));
  const blob = async (text: string) => {
    const bytes = Buffer.from(text);
    const writer = await store.begin(digestOf(bytes), bytes.length);
    await writer?.write(bytes);
    await writer?.commit();
    await store.linkLayer('conformance/repo1', digestOf(bytes));
    return { mediaType: 'application/octet-stream', digest: digestOf(bytes), size: bytes.length };
  };
  const put = async (manifest: object) => {
    const bytes = Buffer.from(JSON.stringify({ schemaVersion: 2, ...manifest }));
    const mediaType = 'application/vnd.oci.image.manifest.v1+json';
    await store.putManifest('conformance/repo1', { digest: digestOf(bytes), mediaType, bytes });
    return { mediaType, digest: digestOf(bytes), size: bytes.length };
  };
  const [config, layer] = [await blob('{}'), await blob('a layer')];
  const image = await put({
    mediaType: 'application/vnd.oci.image.manifest.v1+json',
    config,
    layers: [layer],
  });
  await store.tag('conformance/repo1', 'v1', image.digest);
  await put({
    mediaType: 'application/vnd.oci.image.manifest.v1+json',
    artifactType: 'application/example',
    config,
    layers: [layer],
    subject: image,
  });
  const registry = await served(join(dir, 'store'), false);
  t.after(registry.close);
  // Its exit code says nothing here: this version of the suite crashes where it writes results.yaml of such a run.
  const { output } = await runConformance(await conformanceProgram(), dir, {
    OCI_REGISTRY: registry.host,
    OCI_API_PUSH: 'false',
    OCI_API_BLOBS_DELETE: 'false',
    OCI_API_MANIFESTS_DELETE: 'false',
    OCI_API_TAGS_DELETE: 'false',
    OCI_RO_DATA_TAGS: 'v1',
    OCI_RO_DATA_MANIFESTS: image.digest,
    OCI_RO_DATA_BLOBS: `${config.digest} ${layer.digest}`,
    OCI_RO_DATA_REFERRERS: image.digest,
  });
  assert.match(output, /^OCI Conformance Result: Pass/m, output.slice(-3000));
  assert.doesNotMatch(output, /: +FAIL$/m);
  assert.match(output, /Manifest get by tag\.*: +Pass/);
});
