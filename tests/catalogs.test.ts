import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { AnyObject, CustomResourceDefinition } from '../src/api/core.ts';
import type { KindRef } from '../src/api/kinds.ts';
import { labels } from '../src/api/names.ts';
import { buildImage } from '../src/build/image.ts';
import { waitFor } from '../src/kube/wait.ts';
import { applyCatalogs } from '../src/release/catalog-apply.ts';
import { catalogObjects } from '../src/release/catalogs.ts';
import { makeRelease, type TestRelease } from './bundles.ts';
import { type ContentPlane, key, startContentPlane, until } from './content-plane.ts';
import { olmDefinitions } from './olm.ts';

const namespace = 'openshift-marketplace';
const repository = 'registry.example/catalogs/mine';

describe('the catalogs of a release, in a cluster with OLM', () => {
  let plane: ContentPlane;
  let release: TestRelease;

  before(async () => {
    plane = await startContentPlane(1);
    const { client } = plane.cluster;
    await client.create(client.kinds.Namespace, { metadata: { name: namespace } });
    const catalog = join(plane.dir, 'catalog');
    await buildImage({
      out: { directory: catalog, reference: 'c' },
      files: [{ path: '/configs/web/package.json', data: '{"schema":"olm.package","name":"web"}' }],
      config: { labels: { 'operators.operatorframework.io.index.configs.v1': '/configs' } },
    });
    release = await makeRelease({
      version: '1.0.0',
      dir: plane.dir,
      key: key.pair,
      others: new Map([[`${repository}:v1`, `oci:${catalog}:c`]]),
      roles: new Map([[`${repository}:v1`, 'catalog']]),
    });
    const [node] = plane.nodes;
    assert.ok(node !== undefined);
    await plane.preload(node, release);
    await plane.startManager(node);
    await plane.startRegistry(node);
    await plane.setCurrent(release);
    plane.startController();
    await until('the release to be held', async () => (await plane.object())?.status !== undefined);
  });
  after(() => plane?.close());

  const sluice = (...args: string[]) => plane.sluice('release', 'catalogs', '1.0.0', ...args);
  const kindOf = async (apiVersion: string, kind: string) => {
    const found = await plane.cluster.client.resolveKind(apiVersion, kind);
    assert.ok(found !== undefined, kind);
    return found as KindRef<AnyObject>;
  };
  const sources = () => kindOf('operators.coreos.com/v1alpha1', 'CatalogSource');
  const catalogs = () => kindOf('olm.operatorframework.io/v1', 'ClusterCatalog');
  const hubs = () => kindOf('config.openshift.io/v1', 'OperatorHub');
  const name = 'sluice-mine';
  const specOf = (object: AnyObject | undefined) =>
    (object as unknown as { spec?: object } | undefined)?.spec;
  const imageOf = () => {
    const image = release.document.images.find((each) => each.role === 'catalog');
    return `${repository}@${image?.digest}`;
  };

  test('where there is no OLM, that is said, and nothing is written', async () => {
    const without = await sluice('--apply');
    assert.equal(without.code, 1, without.all);
    assert.match(without.stderr, /serves no CatalogSource and ClusterCatalog: it has no such OLM/);
  });

  test('where there is one OLM of the two, its catalog is made, and the other told', async () => {
    const { client } = plane.cluster;
    const definitions = olmDefinitions();
    const only = definitions.filter(({ spec }) => spec.names.kind === 'CatalogSource');
    await define(only);
    const first = await sluice('--dry-run');
    assert.equal(first.code, 0, first.all);
    assert.deepEqual(first.stdout.trim().split('\n'), [
      `catalogsource/${name} created (dry run)`,
      `clustercatalog/${name} left out: the cluster does not serve the kind (dry run)`,
    ]);
    assert.equal(
      await client.tryGet(await sources(), name, namespace),
      undefined,
      'a dry run writes nothing',
    );
    await define(definitions.filter((each) => !only.includes(each)));
  });

  test('a dry run is the default of nothing: shown, tried, applied, and the second time unchanged', async () => {
    const { client } = plane.cluster;
    const shown = await sluice('-o', 'json');
    assert.equal(JSON.parse(shown.stdout).items.length, 2);
    await client.create(await hubs(), {
      metadata: { name: 'cluster' },
      spec: { sources: [{ name: 'community-operators', disabled: false }] },
    } as never);
    const applied = await sluice('--apply', '--default-sources-off');
    assert.equal(applied.code, 0, applied.all);
    assert.deepEqual(applied.stdout.trim().split('\n'), [
      'operatorhub/cluster configured',
      `catalogsource/${name} created`,
      `clustercatalog/${name} created`,
    ]);
    // Read back as their consumers have them: every field that was stated is kept by their schema.
    const source = await client.get(await sources(), name, namespace);
    assert.deepEqual(specOf(source), {
      sourceType: 'grpc',
      image: imageOf(),
      displayName: 'mine of release 1.0.0',
      publisher: 'Sluice',
      grpcPodConfig: { securityContextConfig: 'restricted' },
    });
    assert.deepEqual(specOf(await client.get(await catalogs(), name)), {
      source: { type: 'Image', image: { ref: imageOf() } },
      availabilityMode: 'Available',
      priority: 0,
    });
    assert.deepEqual(specOf(await client.get(await hubs(), 'cluster')), {
      disableAllDefaultSources: true,
      sources: [{ name: 'community-operators', disabled: false }],
    });
    const again = await sluice('--apply', '--default-sources-off', '-o', 'json');
    const outcomes = (JSON.parse(again.stdout).applied as { outcome: string }[]).map((each) => each.outcome);
    assert.deepEqual(outcomes, ['unchanged', 'unchanged', 'unchanged']);
    assert.equal(
      (await client.get(await sources(), name, namespace)).metadata.resourceVersion,
      source.metadata.resourceVersion,
    );
  });

  test('what a person set beside it stays; the next release changes the image and nothing else', async () => {
    const { client } = plane.cluster;
    await client.patch(await sources(), name, { spec: { priority: 7 } }, { namespace });
    const next = nextObjects();
    const result = await applyCatalogs(client, next, { dryRun: false });
    assert.deepEqual(
      result.applied.map((each) => each.outcome),
      ['changed', 'changed'],
    );
    const spec = specOf(await client.get(await sources(), name, namespace)) as Record<string, unknown>;
    assert.equal(spec.priority, 7);
    assert.equal(spec.image, `${repository}@sha256:${'9'.repeat(64)}`);
    assert.equal(spec.displayName, 'mine of release 1.1.0');
  });

  test('catalogs of others are not touched, and one by our name ends it before anything is written', async () => {
    const { client } = plane.cluster;
    const theirs = { sourceType: 'grpc', image: 'other.example/x:1' };
    await client.create(await sources(), {
      metadata: { name: 'community', namespace },
      spec: theirs,
    } as never);
    await client.patch(
      await sources(),
      name,
      { metadata: { labels: { [labels.catalog]: null } } },
      { namespace },
    );
    const before = await client.get(await catalogs(), name);
    const refused = await sluice('--apply');
    assert.equal(refused.code, 1, refused.all);
    assert.match(refused.stderr, /not made by Sluice, so they stay as they are: catalogsource\/sluice-mine/);
    assert.equal(
      (await client.get(await catalogs(), name)).metadata.resourceVersion,
      before.metadata.resourceVersion,
    );
    await client.patch(
      await sources(),
      name,
      { metadata: { labels: { [labels.catalog]: '' } } },
      { namespace },
    );
    assert.equal((await sluice('--apply')).code, 0);
    assert.deepEqual(specOf(await client.get(await sources(), 'community', namespace)), theirs);
  });

  test('a catalog of ours that the release does not have stays, and is told', async () => {
    const { client } = plane.cluster;
    await client.create(await catalogs(), {
      metadata: { name: 'sluice-old', labels: { [labels.catalog]: '' } },
      spec: { source: { type: 'Image', image: { ref: 'registry.example/old:1' } } },
    } as never);
    const applied = await sluice('--apply', '--olm', 'v1');
    assert.equal(applied.code, 0, applied.all);
    assert.match(applied.stderr, /clustercatalog\/sluice-old is of another release and stays/);
    assert.ok((await client.tryGet(await catalogs(), 'sluice-old')) !== undefined);
  });

  test('a field that the consumer does not know is refused before anything is written', async () => {
    const { client } = plane.cluster;
    const [source, catalog] = nextObjects() as [AnyObject, AnyObject];
    const wrong = { ...catalog, spec: { ...specOf(catalog), pollMinutes: 5 } } as AnyObject;
    const before = (await client.get(await sources(), name, namespace)).metadata.resourceVersion;
    await assert.rejects(applyCatalogs(client, [source, wrong], { dryRun: false }), /pollMinutes/);
    assert.equal((await client.get(await sources(), name, namespace)).metadata.resourceVersion, before);
  });

  /** The same catalog with other content, as the next release has it. */
  function nextObjects(): AnyObject[] {
    const images = release.document.images.map((image) => ({
      ...image,
      digest: `sha256:${'9'.repeat(64)}` as const,
    }));
    const options = { versions: ['v0', 'v1'], defaultSourcesOff: false, namespace } as const;
    return catalogObjects({ images, version: '1.1.0' }, options);
  }

  async function define(definitions: readonly CustomResourceDefinition[]): Promise<void> {
    const { client } = plane.cluster;
    const kind = client.kinds.CustomResourceDefinition;
    for (const definition of definitions) {
      await client.create(kind, definition);
      await waitFor(
        client,
        kind,
        definition.metadata.name,
        (object) =>
          object?.status?.conditions?.some(
            (each) => each.type === 'Established' && each.status === 'True',
          ) === true,
        { timeoutMs: 20_000, what: 'the definition' },
      );
    }
  }
});
