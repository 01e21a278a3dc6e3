import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hrefOf, parseRoute, type Route } from './route.ts';

const routes: readonly Route[] = [
  { page: 'overview' },
  { page: 'releases' },
  { page: 'releases', name: 'ocp-release-bundle-1.1.0-x86_64' },
  { page: 'update', target: '1.1.0' },
  { page: 'update', operator: 'machine-config' },
  { page: 'preflight', name: 'update-0123456789ab', with: 'openshift-cluster-version/nightly' },
  { page: 'nodes', view: 'calendar' },
  { page: 'nodes', name: 'master-0' },
  { page: 'nodes', filter: 'held by: users & locks' },
];

test('every route has an address that leads back to it', () => {
  for (const route of routes) {
    const [path = '', search] = hrefOf(route).split('?');
    assert.deepEqual(parseRoute(path, search === undefined ? '' : `?${search}`), route);
  }
});

test('what leads nowhere says so, also where its encoding is broken', () => {
  assert.equal(parseRoute('nonsense', '').page, 'nowhere');
  assert.equal(parseRoute('nodes/a/b', '').page, 'nowhere');
  assert.deepEqual(parseRoute('nodes/%E0%A4%A', ''), { page: 'nodes', name: '%E0%A4%A' });
});
