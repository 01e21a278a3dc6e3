import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createHttpClient } from '../http/client.ts';
import { createAuthority, issue } from '../trust/authority.ts';
import { serveLogs } from './log-server.ts';

test('only the API server reads logs, whoever else has a certificate of the cluster', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'sluice-logs-'));
  t.after(() => rm(dir, { recursive: true }));
  const path = join(dir, '0.log');
  await writeFile(path, '2026-01-01T00:00:00.000000000Z stdout F said\n');
  const authority = await createAuthority('cluster');
  const server = await issue(authority, {
    commonName: 'system:node:master-0',
    ipAddresses: ['127.0.0.1'],
    usage: 'server',
  });
  const logs = await serveLogs({
    address: '127.0.0.1',
    port: 0,
    tls: { cert: server.certPem, key: server.keyPem },
    clientCa: authority.certPem,
    find: () => ({ path, isRunning: () => false }),
  });
  t.after(() => logs.close(0));
  const statusOf = async (commonName: string | undefined, organizations: string[] = [], by = authority) => {
    const pair =
      commonName === undefined ? undefined : await issue(by, { commonName, organizations, usage: 'client' });
    const http = createHttpClient({
      ca: authority.certPem,
      ...(pair === undefined ? {} : { cert: pair.certPem, key: pair.keyPem }),
    });
    try {
      const answer = await http.request({ url: `https://127.0.0.1:${logs.port}/containerLogs/n/p/c` });
      return [answer.status, await answer.text(1000)];
    } finally {
      await http.close();
    }
  };
  assert.deepEqual(await statusOf('kube-apiserver'), [200, 'said\n']);
  for (const [name, group] of [
    ['sluice-controller', 'sluice:controllers'],
    ['kubernetes-admin', 'system:masters'],
    ['system:node:master-1', 'system:nodes'],
    ['somebody', ''],
  ] as const) {
    assert.equal((await statusOf(name, group === '' ? [] : [group]))[0], 403, name);
  }
  assert.equal((await statusOf(undefined))[0], 401);
  assert.equal((await statusOf('kube-apiserver', [], await createAuthority('another')))[0], 401);
});
