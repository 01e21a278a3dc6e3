import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestCluster, type TestCluster } from '../../tests/cluster.ts';
import { createFakeClock, settle } from '../../tests/fake-clock.ts';
import type { AnyObject, ConfigMap, Deployment } from '../api/core.ts';
import { isSluiceError } from '../errors/error.ts';
import { silentLogger } from '../observe/log.ts';
import { applyObject } from './apply.ts';
import type { KubeClient } from './client.ts';
import { runController, watchOf } from './controller.ts';
import { isAlreadyExists, isConflict, isForbidden, isInvalid, isNotFound } from './error.ts';
import { createEventRecorder, eventMessage, recordEvent } from './events.ts';
import { createInformer } from './informer.ts';
import { findKubeconfig } from './kubeconfig.ts';
import { connect } from './platform.ts';
import { waitFor, waitForDeletion } from './wait.ts';

/** The client against a real server: the embedded API in this process. */
let cluster: TestCluster;
let client: KubeClient;
before(async () => {
  cluster = await startTestCluster();
  client = cluster.client;
});
after(() => cluster.close());

let count = 0;
const fresh = (prefix: string) => {
  count += 1;
  return `${prefix}-${count}`;
};
const inDefault = (name: string, data: Record<string, string> = {}) => ({
  metadata: { name, namespace: 'default' },
  data,
});

test('create, read, update, patch, delete; a stale update is a Conflict', async () => {
  const { ConfigMap } = client.kinds;
  const name = fresh('crud');
  const created = await client.create(ConfigMap, inDefault(name, { a: '1' }));
  assert.equal(created.kind, 'ConfigMap');
  assert.equal(created.apiVersion, 'v1');
  const updated = await client.update(ConfigMap, { ...created, data: { a: '2' } });
  await assert.rejects(client.update(ConfigMap, { ...created, data: { a: '3' } }), isConflict);
  await assert.rejects(client.create(ConfigMap, inDefault(name)), isAlreadyExists);
  await client.patch(ConfigMap, name, { data: { a: null, b: '4' } }, { namespace: 'default' });
  assert.deepEqual((await client.get(ConfigMap, name, 'default')).data, { b: '4' });
  await assert.rejects(
    client.patch(ConfigMap, name, [{ op: 'test', path: '/data/b', value: 'no' }], { namespace: 'default' }),
    isInvalid,
  );
  await assert.rejects(
    client.delete(ConfigMap, name, {
      namespace: 'default',
      resourceVersion: updated.metadata.resourceVersion ?? '',
    }),
    isConflict,
  );
  assert.equal(await client.delete(ConfigMap, name, { namespace: 'default' }), true);
  assert.equal(await client.delete(ConfigMap, name, { namespace: 'default' }), false);
  await assert.rejects(client.get(ConfigMap, name, 'default'), isNotFound);
});

test('the status of our kinds is a part of its own', async () => {
  const { NodeUpdate } = client.kinds;
  const name = fresh('node');
  const created = await client.create(NodeUpdate, {
    metadata: { name },
    spec: {},
    status: { driver: 'lost' },
  });
  assert.equal(created.status, undefined);
  const reported = await client.updateStatus(NodeUpdate, {
    ...created,
    status: { driver: 'simulated', state: 'Steady' },
  });
  assert.equal(reported.status?.driver, 'simulated');
  const kept = await client.update(NodeUpdate, { ...reported, status: { driver: 'other' } });
  assert.equal(kept.status?.driver, 'simulated');
});

test('our schemas: rules, patterns and enums hold, and messages say what is wrong', async () => {
  const { UpdatePreflight, InternalReleaseImage, ClusterVersion, MachineConfigNode } = client.kinds;
  const digest = `sha256:${'a'.repeat(64)}`;
  const metadata = { name: fresh('p'), namespace: 'default' };
  await assert.rejects(
    client.create(UpdatePreflight, { metadata, spec: {} }),
    /give the release by image or by version/,
  );
  await assert.rejects(
    client.create(UpdatePreflight, { metadata, spec: { image: 'registry/release:4.19.0' } }),
    /must end with @sha256/,
  );
  await assert.rejects(
    client.create(UpdatePreflight, { metadata, spec: { version: '4.19.0', frequency: 'daily' } }),
    /frequency/,
  );
  await client.create(UpdatePreflight, { metadata, spec: { image: `r/x@${digest}`, frequency: '1d12h' } });

  const release = { name: 'ocp-release-bundle-4.19.0-x86_64' };
  await assert.rejects(
    client.create(InternalReleaseImage, { metadata: { name: 'other' }, spec: { releases: [release] } }),
    /its name is 'cluster'/,
  );
  await assert.rejects(
    client.create(InternalReleaseImage, {
      metadata: { name: 'cluster' },
      spec: { releases: [{ name: 'ocp-release-bundle-4.19-x86_64' }] },
    }),
    /must be ocp-release-bundle-<version>-<arch\|stream> and <= 64 chars/,
  );
  const content = await client.create(InternalReleaseImage, {
    metadata: { name: 'cluster' },
    spec: { releases: [release] },
  });
  const image = (host: string) => ({
    ...content,
    status: { releases: [{ ...release, image: `${host}@${digest}` }] },
  });
  await assert.rejects(
    client.updateStatus(InternalReleaseImage, image('/openshift/release-images')),
    isInvalid,
  );
  await client.updateStatus(
    InternalReleaseImage,
    image('api-int.sluice.internal:22625/openshift/release-images'),
  );

  const version = { metadata: { name: 'version' }, spec: { clusterID: 'c' } };
  await assert.rejects(
    client.create(ClusterVersion, {
      ...version,
      spec: { clusterID: 'c', desiredUpdate: { architecture: 'Multi', image: 'x', version: '4.19.0' } },
    }),
    /architecture and image cannot be set together/,
  );
  const node = (name: string) => ({
    metadata: { name },
    spec: {
      node: { name: 'master-0' },
      pool: { name: 'master' },
      configVersion: { desired: 'NotYetSet'.toLowerCase() },
    },
  });
  await assert.rejects(client.create(MachineConfigNode, node('master-1')), /must be the name of the object/);
  const created = await client.create(MachineConfigNode, node('master-0'));
  const local = { ...release, image: `localhost:22625/openshift/release-images@${digest}` };
  await client.updateStatus(MachineConfigNode, {
    ...created,
    status: { internalReleaseImage: { releases: [local] } },
  });
});

test('an identity without rights is Forbidden, and one that is unknown is Unauthorized', async () => {
  const nobody = await cluster.clientAs('nobody');
  await assert.rejects(nobody.list(nobody.kinds.Secret), isForbidden);
  await assert.rejects(cluster.clientWithToken('nonsense').list(client.kinds.Secret), (error) =>
    isSluiceError(error, 'Unauthorized'),
  );
});

test('a list longer than a page is read whole', async () => {
  const namespace = fresh('pages');
  await client.create(client.kinds.Namespace, { metadata: { name: namespace } });
  for (let index = 0; index < 7; index += 1) {
    await client.create(client.kinds.ConfigMap, { metadata: { name: `c${index}`, namespace } });
  }
  const list = await client.list(client.kinds.ConfigMap, { namespace, pageSize: 3 });
  const found = list.items.map((item) => item.metadata.name).filter((name) => name.startsWith('c'));
  assert.deepEqual(found, ['c0', 'c1', 'c2', 'c3', 'c4', 'c5', 'c6']);
});

test('an informer follows a server through its restart', async (t) => {
  const stop = new AbortController();
  t.after(() => stop.abort());
  const informer = createInformer(client, client.kinds.NodeUpdate, {
    logger: silentLogger,
    signal: stop.signal,
  });
  informer.start();
  await informer.synced();
  const name = fresh('restart');
  const seen = (wanted: string) =>
    new Promise<void>((resolve) => {
      informer.onChange((change) => {
        if (change.type === wanted && change.object.metadata.name === name) resolve();
      });
    });
  const added = seen('added');
  await client.create(client.kinds.NodeUpdate, { metadata: { name }, spec: {} });
  await added;
  await cluster.restart();
  const updated = seen('updated');
  await client.patch(client.kinds.NodeUpdate, name, { metadata: { labels: { a: 'b' } } });
  await updated;
  assert.equal(informer.get(name)?.metadata.labels?.a, 'b');
  const deleted = seen('deleted');
  await client.delete(client.kinds.NodeUpdate, name);
  await deleted;
  assert.equal(informer.get(name), undefined);
  stop.abort();
});

test('a controller brings what it watches to what it should be', async (t) => {
  const stop = new AbortController();
  t.after(() => stop.abort());
  const { ConfigMap } = client.kinds;
  const namespace = fresh('controller');
  await client.create(client.kinds.Namespace, { metadata: { name: namespace } });
  const running = runController({
    name: 'twin',
    client,
    logger: silentLogger,
    signal: stop.signal,
    watches: [
      watchOf(ConfigMap, { namespace, labelSelector: 'twin', keysOf: (object) => [object.metadata.name] }),
    ],
    async reconcile(name) {
      const object = await client.tryGet(ConfigMap, name, namespace);
      if (object?.data?.twin === 'done') return;
      if (object !== undefined) await client.update(ConfigMap, { ...object, data: { twin: 'done' } });
    },
  });
  await client.create(ConfigMap, { metadata: { name: 'one', namespace, labels: { twin: '' } } });
  await waitFor(client, ConfigMap, 'one', (object) => object?.data?.twin === 'done', {
    namespace,
    timeoutMs: 10_000,
  });
  stop.abort();
  await running;
});

test('waiting: at once, on a change, on the end, and in vain with how it stands', async () => {
  const { ConfigMap } = client.kinds;
  const name = fresh('wait');
  const scope = { namespace: 'default', timeoutMs: 10_000 };
  const waiting = waitFor(client, ConfigMap, name, (object) => object?.data?.ready === 'yes', scope);
  const created = await client.create(ConfigMap, inDefault(name));
  await client.update(ConfigMap, { ...created, data: { ready: 'yes' } });
  assert.equal((await waiting)?.data?.ready, 'yes');
  await waitFor(client, ConfigMap, name, (object) => object !== undefined, scope);
  await assert.rejects(
    waitFor(client, ConfigMap, name, () => false, {
      ...scope,
      timeoutMs: 300,
      what: 'the impossible',
      describe: (object) => `ready is ${(object as ConfigMap).data?.ready}`,
    }),
    (error) =>
      isSluiceError(error, 'Timeout') && error.message === 'waited 0.3 s for the impossible: ready is yes',
  );
  const gone = waitForDeletion(client, ConfigMap, name, scope);
  await client.delete(ConfigMap, name, { namespace: 'default' });
  await gone;
});

test('waiting ends when its caller no longer wants it', async () => {
  const stop = new AbortController();
  const waiting = waitFor(client, client.kinds.ConfigMap, 'never', (object) => object !== undefined, {
    namespace: 'default',
    timeoutMs: 60_000,
    signal: stop.signal,
  });
  setTimeout(() => stop.abort(new Error('enough')), 50);
  await assert.rejects(waiting, /enough/);
});

test('the same event twice is one that is counted twice; its message is one line of at most 1024', async () => {
  const { ConfigMap, Event } = client.kinds;
  const object = await client.create(ConfigMap, inDefault(fresh('event')));
  const facts = { kind: ConfigMap, object, type: 'Warning', reason: 'Held', message: 'one\n  two' } as const;
  for (let time = 0; time < 3; time += 1) await recordEvent(client, { ...facts, component: 'test' });
  const recorder = createEventRecorder(client, { component: 'test', logger: silentLogger });
  recorder.record({ ...facts, message: 'x'.repeat(3000) });
  await recorder.flushed();
  const fieldSelector = `involvedObject.name=${object.metadata.name}`;
  const events = (await client.list(Event, { namespace: 'default', fieldSelector })).items;
  const told = events.map((event) => [event.count, event.message?.slice(0, 10), event.message?.length]);
  assert.deepEqual(told.sort(), [
    [1, 'xxxxxxxxxx', 1024],
    [3, 'one two', 7],
  ]);
  assert.equal(eventMessage('a\r\n\r\nb'), 'a b');
});

test('a series of events does not end before it began, though the clock was set back', async () => {
  const { ConfigMap, Event } = client.kinds;
  const object = await client.create(ConfigMap, inDefault(fresh('event')));
  const clock = createFakeClock();
  const facts = { kind: ConfigMap, object, type: 'Normal', reason: 'Held', message: 'x' } as const;
  const record = () => recordEvent(client, { ...facts, component: 'test', clock });
  await record();
  clock.jump(-3_600_000);
  await record();
  const fieldSelector = `involvedObject.name=${object.metadata.name}`;
  const [event] = (await client.list(Event, { namespace: 'default', fieldSelector })).items;
  assert.deepEqual([event?.count, event?.lastTimestamp], [2, event?.firstTimestamp]);
});

test('an event about a cluster-scoped object stands in default; one that cannot be written harms nobody', async () => {
  const { NodeUpdate, Event } = client.kinds;
  const object = await client.create(NodeUpdate, { metadata: { name: fresh('evented') }, spec: {} });
  const facts = { kind: NodeUpdate, object, type: 'Normal', reason: 'Staged', message: 'staged' } as const;
  await recordEvent(client, { ...facts, component: 'test' });
  const fieldSelector = `involvedObject.name=${object.metadata.name}`;
  const [event] = (await client.list(Event, { namespace: 'default', fieldSelector })).items;
  assert.equal(event?.involvedObject.apiVersion, 'sluice.dev/v1');
  const nobody = await cluster.clientAs('nobody');
  const recorder = createEventRecorder(nobody, { component: 'test', logger: silentLogger });
  recorder.record(facts);
  await recorder.flushed();
});

test('apply: created, unchanged, changed; what others wrote stays', async () => {
  const manifest = (image: string): Deployment => ({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'applied', namespace: 'default', labels: { mine: 'yes' } },
    spec: {
      selector: { matchLabels: { app: 'a' } },
      template: { metadata: { labels: { app: 'a' } }, spec: { containers: [{ name: 'main', image }] } },
    },
  });
  assert.equal((await applyObject(client, manifest('i@sha256:1'))).outcome, 'created');
  assert.equal((await applyObject(client, manifest('i@sha256:1'))).outcome, 'unchanged');
  await client.patch(
    client.kinds.Deployment,
    'applied',
    { metadata: { labels: { theirs: 'yes' } }, spec: { replicas: 3 } },
    { namespace: 'default' },
  );
  assert.equal((await applyObject(client, manifest('i@sha256:1'))).outcome, 'unchanged');
  const { outcome, object } = await applyObject(client, manifest('i@sha256:2'));
  assert.equal(outcome, 'changed');
  assert.equal(object.spec.replicas, 3);
  assert.deepEqual(object.metadata.labels, { mine: 'yes', theirs: 'yes' });
  assert.equal(object.spec.template.spec.containers[0]?.image, 'i@sha256:2');
  const kept = await applyObject(client, manifest('i@sha256:3'), { createOnly: true });
  assert.equal(kept.outcome, 'unchanged');
});

test('apply: a Secret by stringData twice is no change, and status is never taken from a manifest', async () => {
  const secret = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'applied', namespace: 'default' },
    stringData: { password: 'p' },
  };
  assert.equal((await applyObject(client, secret)).outcome, 'created');
  assert.equal((await applyObject(client, secret)).outcome, 'unchanged');
  const operator = {
    apiVersion: 'config.openshift.io/v1',
    kind: 'ClusterOperator',
    metadata: { name: 'applied' },
    spec: {},
    status: { versions: [{ name: 'operator', version: '1.0.0' }] },
  };
  assert.equal((await applyObject(client, operator)).outcome, 'created');
  assert.equal((await applyObject(client, operator)).outcome, 'unchanged');
});

test('apply: a kind that no API serves yet is NotFound, and is served once its definition is there', async () => {
  const thing: AnyObject = {
    apiVersion: 'example.org/v1',
    kind: 'Thing',
    metadata: { name: 'one' },
    spec: { size: 1 },
  };
  await assert.rejects(
    applyObject(client, thing, { source: '0000_50_thing.yaml' }),
    (error) =>
      isSluiceError(error, 'NotFound') &&
      /no API serves Thing of example.org\/v1.*0000_50_thing/.test(error.message),
  );
  await applyObject(client, {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'things.example.org' },
    spec: {
      group: 'example.org',
      scope: 'Cluster',
      names: { kind: 'Thing', plural: 'things', singular: 'thing', listKind: 'ThingList' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: {
            openAPIV3Schema: {
              type: 'object',
              properties: { spec: { type: 'object', properties: { size: { type: 'integer' } } } },
            },
          },
        },
      ],
    },
  });
  await waitFor(
    client,
    client.kinds.CustomResourceDefinition,
    'things.example.org',
    (crd) =>
      crd?.status?.conditions?.some((one) => one.type === 'Established' && one.status === 'True') === true,
    { timeoutMs: 10_000 },
  );
  assert.equal((await applyObject(client, thing)).outcome, 'created');
  assert.equal((await applyObject(client, { ...thing, spec: { size: 2 } })).outcome, 'changed');
});

test('a ServiceAccount token is one that the API knows', async () => {
  await client.create(client.kinds.ServiceAccount, { metadata: { name: 'robot', namespace: 'default' } });
  const { token } = await client.createToken('default', 'robot', { expirationSeconds: 600 });
  const robot = cluster.clientWithToken(token);
  const review = (await robot.raw({
    method: 'POST',
    path: '/apis/authentication.k8s.io/v1/selfsubjectreviews',
    body: { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' },
  })) as { status: { userInfo: { username: string } } };
  assert.equal(review.status.userInfo.username, 'system:serviceaccount:default:robot');
});

test('connected by the kubeconfig, the embedded API is known as standalone', async () => {
  const connected = await connect(findKubeconfig({ path: cluster.kubeconfig }), { userAgent: 'test/1' });
  // Other software knows OpenShift by the groups that the real API is given for the tests, and so does this.
  assert.equal(connected.platform, cluster.engine === 'embedded' ? 'standalone' : 'openshift');
  assert.ok((await connected.list(connected.kinds.Namespace)).items.length > 0);
  assert.equal(await connected.serves(connected.kinds.NodeUpdate), true);
  await connected.close();
  await settle();
});
