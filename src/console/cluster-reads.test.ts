import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readablePath, readQuery } from './cluster-reads.ts';

test('collections, objects and logs are read', () => {
  for (const path of [
    '/api/v1/nodes',
    '/api/v1/nodes/master-0',
    '/api/v1/namespaces/demo/pods/one/log',
    '/apis/config.openshift.io/v1/clusterversions/version',
    '/apis/sluice.dev/v1/nodeupdates',
    '/apis/config.openshift.io/v1alpha1/namespaces/openshift-cluster-version/updatepreflights',
  ]) {
    assert.equal(readablePath(path), path);
  }
});

test('what leads elsewhere is refused, whatever the rights of the person are', () => {
  for (const path of [
    '/api/v1/namespaces/demo/secrets',
    '/api/v1/secrets',
    '/api/v1/namespaces/demo/secrets/one',
    '/api/v1/namespaces/demo/services/one/proxy',
    '/api/v1/namespaces/demo/services/one/proxy/index.html',
    '/api/v1/nodes/master-0/proxy/logs',
    '/api/v1/namespaces/demo/pods/one/exec',
    '/api/v1/namespaces/demo/pods/../secrets',
    '/api/v1/namespaces/demo/pods/%2e%2e/secrets',
    '/api/v1//nodes',
    '/metrics',
    '/openapi/v3',
    '/apis/x',
    '/api/v1/nodes?watch=1',
    '/api/v1/nodes\n',
    '//evil.example.com/api/v1/nodes',
    '',
  ]) {
    assert.throws(() => readablePath(path), /does not read/, path);
  }
});

test('a read is no watch, and a log does not follow', () => {
  assert.deepEqual(readQuery('limit=500&watch=true&follow=1&labelSelector=a%3Db'), {
    limit: '500',
    labelSelector: 'a=b',
  });
  assert.throws(() => readQuery('x'.repeat(3_000)), /too long/);
});
