import assert from 'node:assert/strict';
import { test } from 'node:test';
import { proxyFromEnvironment } from './proxy.ts';

test('P16 what is on this machine or a cluster’s own never goes through a proxy', () => {
  const choose = proxyFromEnvironment({ HTTPS_PROXY: 'http://proxy:3128', http_proxy: 'http://proxy:3128' });
  for (const host of [
    'localhost',
    '127.0.0.1:5000',
    '127.22.62.11:22625',
    '[::1]:22625',
    'api-int.example.org:22625',
    'api-int.sluice.internal:22625',
    'registry.svc.cluster.local',
  ]) {
    assert.equal(choose(new URL(`https://${host}/v2/`)), undefined, host);
    assert.equal(choose(new URL(`http://${host}/v2/`)), undefined, host);
  }
  assert.equal(choose(new URL('https://quay.io/v2/')), 'http://proxy:3128');
});

test('P16 NO_PROXY: names, domains, ports, addresses, ranges', () => {
  const table: [string, string, boolean][] = [
    ['quay.io', 'https://quay.io/', true],
    ['quay.io', 'https://cdn.quay.io/', true],
    ['.quay.io', 'https://cdn.quay.io/', true],
    ['*.quay.io', 'https://cdn.quay.io/', true],
    ['quay.io', 'https://notquay.io/', false],
    ['quay.io:443', 'https://quay.io/', true],
    ['quay.io:8443', 'https://quay.io/', false],
    ['10.0.0.0/8', 'https://10.1.2.3:5000/', true],
    ['10.0.0.0/8', 'https://11.1.2.3:5000/', false],
    ['fd00::/8', 'https://[fd12::1]:5000/', true],
    ['10.0.0.0/33', 'https://10.1.2.3/', false],
    ['1.2.3.4', 'https://1.2.3.4/', true],
    ['a, b  quay.io', 'https://quay.io/', true],
    ['*', 'https://quay.io/', true],
    ['', 'https://quay.io/', false],
  ];
  for (const [exceptions, url, direct] of table) {
    const choose = proxyFromEnvironment({ https_proxy: 'proxy:3128', NO_PROXY: exceptions });
    assert.equal(choose(new URL(url)), direct ? undefined : 'http://proxy:3128', `${exceptions} ${url}`);
  }
});

test('HTTP_PROXY in upper case, which a request to a web server can set, is not believed', () => {
  assert.equal(proxyFromEnvironment({ HTTP_PROXY: 'http://evil' })(new URL('http://quay.io/')), undefined);
});
