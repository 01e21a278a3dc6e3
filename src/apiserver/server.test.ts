import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { connect } from 'node:tls';
import { startTestCluster, type TestCluster } from '../../tests/cluster.ts';
import { createHttpClient } from '../http/client.ts';
import { serve } from '../http/server.ts';
import { silentLogger } from '../observe/log.ts';
import { createAuthority, issue } from '../trust/authority.ts';
import { startApiServer } from './server.ts';

async function withCluster<T>(run: (cluster: TestCluster) => Promise<T>): Promise<T> {
  const cluster = await startTestCluster();
  try {
    return await run(cluster);
  } finally {
    await cluster.close();
  }
}

const configMaps = '/api/v1/namespaces/default/configmaps';

test('what was stored is there after a restart, at the same versions', () =>
  withCluster(async (cluster) => {
    const { client } = cluster;
    const { ConfigMap, NodeUpdate } = client.kinds;
    const before = await client.create(ConfigMap, {
      metadata: { name: 'kept', namespace: 'default' },
      data: { a: 'b' },
    });
    await client.create(NodeUpdate, { metadata: { name: 'n' }, spec: {} });
    await cluster.restart();
    assert.deepEqual(await client.get(ConfigMap, 'kept', 'default'), before);
    assert.equal((await client.get(NodeUpdate, 'n')).metadata.name, 'n');
    const after = await client.create(ConfigMap, { metadata: { name: 'later', namespace: 'default' } });
    assert.ok(Number(after.metadata.resourceVersion) > Number(before.metadata.resourceVersion));
  }));

test('a second server of one database is refused and leaves the first as it was', () =>
  withCluster(async (cluster) => {
    const { ConfigMap } = cluster.client.kinds;
    const second = startApiServer({
      dataDir: join(cluster.dir, 'apiserver'),
      address: '127.0.0.1',
      port: 0,
      tls: { cert: '', key: '' },
      clientCaPem: cluster.caPem,
      logger: silentLogger,
    });
    await assert.rejects(second, /another API server works with the database/);
    assert.ok(await cluster.client.create(ConfigMap, { metadata: { name: 'x', namespace: 'default' } }));
  }));

test('a watch goes on where it was after a restart', () =>
  withCluster(async (cluster) => {
    const { client } = cluster;
    const { ConfigMap } = client.kinds;
    const { resourceVersion } = await client.list(ConfigMap, { namespace: 'default' });
    await client.create(ConfigMap, { metadata: { name: 'one', namespace: 'default' } });
    await cluster.restart();
    await client.create(ConfigMap, { metadata: { name: 'two', namespace: 'default' } });
    const seen: string[] = [];
    for await (const event of client.watch(ConfigMap, { namespace: 'default', resourceVersion })) {
      if (event.type === 'ADDED') seen.push(event.object.metadata.name);
      if (seen.length === 2) break;
    }
    assert.deepEqual(seen, ['one', 'two']);
  }));

test('closing ends the watches that stand', () =>
  withCluster(async (cluster) => {
    const { client } = cluster;
    const { resourceVersion } = await client.list(client.kinds.ConfigMap);
    const ended = (async () => {
      for await (const event of client.watch(client.kinds.ConfigMap, { resourceVersion })) void event;
    })();
    await client.create(client.kinds.ConfigMap, { metadata: { name: 'x', namespace: 'default' } });
    await cluster.restart();
    await ended.catch(() => {});
  }));

test('plain HTTP is not answered', () =>
  withCluster(async (cluster) => {
    const http = createHttpClient();
    await assert.rejects(http.request({ url: `http://127.0.0.1:${cluster.port}/version` }));
    await http.close();
  }));

test('a client certificate of another authority is nobody', () =>
  withCluster(async (cluster) => {
    const foreign = await createAuthority('sluice-test-ca');
    const pair = await issue(foreign, {
      commonName: 'admin',
      organizations: ['system:masters'],
      usage: 'client',
    });
    const http = createHttpClient({ ca: cluster.caPem, cert: pair.certPem, key: pair.keyPem });
    const answer = await http.request({ url: `${cluster.url}/api/v1/nodes` });
    assert.equal(answer.status, 401);
    assert.equal(JSON.parse(await answer.text()).reason, 'Unauthorized');
    await http.close();
  }));

test('a server certificate of the cluster is no client certificate', () =>
  withCluster(async (cluster) => {
    const pair = await issue(cluster.authority, {
      commonName: 'admin',
      organizations: ['system:masters'],
      usage: 'server',
    });
    const http = createHttpClient({ ca: cluster.caPem, cert: pair.certPem, key: pair.keyPem });
    assert.equal((await http.request({ url: `${cluster.url}/api/v1/nodes` })).status, 401);
    await http.close();
  }));

test('the groups of a certificate decide what it may', () =>
  withCluster(async (cluster) => {
    const nobody = await cluster.clientAs('jane', ['readers']);
    await assert.rejects(nobody.list(nobody.kinds.Node), /User "jane" cannot list resource "nodes"/);
    const { kinds } = cluster.client;
    await cluster.client.create(kinds.ClusterRoleBinding, {
      metadata: { name: 'readers' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: 'readers' }],
    });
    assert.ok(await nobody.list(kinds.ConfigMap));
    await assert.rejects(nobody.list(kinds.Secret), /cannot list resource "secrets"/);
  }));

test('rubbish on the socket harms nobody', () =>
  withCluster(async (cluster) => {
    const socket = connect({ port: cluster.port, host: '127.0.0.1', ca: cluster.caPem });
    await new Promise((resolve) => socket.once('secureConnect', resolve));
    socket.resume();
    socket.write('GET /api HTTP/9.9\r\n\u0000\r\n\r\n');
    await new Promise((resolve) => socket.once('close', resolve));
    assert.ok(await cluster.client.raw({ path: '/api' }));
  }));

test('a body that is too large or too deep is refused, and the connection serves on', () =>
  withCluster(async (cluster) => {
    const admin = await issue(cluster.authority, {
      commonName: 'admin',
      organizations: ['system:masters'],
      usage: 'client',
    });
    const http = createHttpClient({ ca: cluster.caPem, cert: admin.certPem, key: admin.keyPem });
    const send = async (body: string): Promise<number> => {
      const headers = { 'content-type': 'application/json' };
      const answer = await http.request({
        method: 'POST',
        url: `${cluster.url}${configMaps}`,
        headers,
        body,
      });
      await answer.discard();
      return answer.status;
    };
    assert.equal(await send(JSON.stringify({ data: { a: 'x'.repeat(4 * 1024 * 1024) } })), 413);
    assert.equal(await send(`{"metadata":${'['.repeat(5_000)}${']'.repeat(5_000)}}`), 400);
    assert.equal(await send('{"metadata":{"name":"fine"}}'), 201);
    await http.close();
    assert.ok(await cluster.client.raw({ path: configMaps }));
  }));

test('a Pod log comes from the kubelet of its node, with the certificate of the server', () =>
  withCluster(async (cluster) => {
    const { client, authority, caPem } = cluster;
    const pair = await issue(authority, {
      commonName: 'kubelet',
      ipAddresses: ['127.0.0.1'],
      usage: 'server',
    });
    const asked: string[] = [];
    const kubelet = await serve({
      address: '127.0.0.1',
      port: 0,
      tls: { cert: pair.certPem, key: pair.keyPem, clientCa: caPem },
      handler(request, response) {
        const authorized = (request.socket as unknown as { authorized: boolean }).authorized;
        asked.push(`${authorized} ${request.url}`);
        if (request.url?.includes('/broken') === true) {
          response.writeHead(400);
          response.end('container "broken" in pod "p" is waiting to start: ErrImagePull');
          return;
        }
        response.writeHead(200, { 'content-type': 'text/plain' });
        response.end('line one\nline two\n');
      },
    });
    const { Node, Pod } = client.kinds;
    const node = await client.create(Node, { metadata: { name: 'n' } });
    node.status = {
      addresses: [{ type: 'InternalIP', address: '127.0.0.1' }],
      daemonEndpoints: { kubeletEndpoint: { Port: kubelet.port } },
    };
    await client.updateStatus(Node, node);
    const containers = ['main', 'broken'].map((name) => ({ name, image: 'example.com/x' }));
    await client.create(Pod, {
      metadata: { name: 'p', namespace: 'default' },
      spec: { nodeName: 'n', containers },
    });
    const log = await client.podLog('default', 'p', { container: 'main', tailLines: 5 });
    assert.equal(log.toString('utf8'), 'line one\nline two\n');
    assert.match(asked[0] ?? '', /^true \/containerLogs\/default\/p\/main\?.*tailLines=5/);
    await assert.rejects(
      client.podLog('default', 'p', { container: 'broken' }),
      /is waiting to start: ErrImagePull/,
    );
    await assert.rejects(client.podLog('default', 'p', {}), /a container name must be specified for pod p/);
    await assert.rejects(
      client.podLog('default', 'p', { container: 'no' }),
      /container no is not valid for pod p/,
    );
    await kubelet.close();
  }));
