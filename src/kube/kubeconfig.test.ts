import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { stringify } from 'yaml';
import { isSluiceError } from '../errors/error.ts';
import { parseExecCredential } from './exec.ts';
import { findKubeconfig, inCluster, loadKubeconfig } from './kubeconfig.ts';

const directory = mkdtempSync(join(tmpdir(), 'sluice-kubeconfig-'));
after(() => rmSync(directory, { recursive: true }));

let files = 0;
function write(config: unknown): string {
  files += 1;
  const path = join(directory, `config-${files}`);
  writeFileSync(path, typeof config === 'string' ? config : stringify(config));
  return path;
}

function config(cluster: object, user: object, context: object = {}): object {
  return {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'here',
    clusters: [{ name: 'c', cluster: { server: 'https://127.0.0.1:6443', ...cluster } }],
    users: [{ name: 'u', user }],
    contexts: [
      { name: 'here', context: { cluster: 'c', user: 'u', ...context } },
      { name: 'other', context: { cluster: 'c', user: 'nobody', namespace: 'else' } },
    ],
  };
}

const base64 = (text: string) => Buffer.from(text).toString('base64');

test('certificates from data and from files beside the kubeconfig', () => {
  writeFileSync(join(directory, 'client.crt'), 'CERT FILE');
  writeFileSync(join(directory, 'client.key'), 'KEY FILE');
  const identity = loadKubeconfig(
    write(
      config(
        { 'certificate-authority-data': base64('CA'), 'tls-server-name': 'api-int' },
        { 'client-certificate': 'client.crt', 'client-key': 'client.key' },
      ),
    ),
  );
  assert.deepEqual(identity, {
    server: 'https://127.0.0.1:6443',
    tls: { ca: 'CA', cert: 'CERT FILE', key: 'KEY FILE', servername: 'api-int' },
    namespace: 'default',
    context: 'here',
  });
});

test('a context by name, its namespace, and a user without credentials', () => {
  const path = write(config({}, { token: 'secret' }));
  assert.equal(loadKubeconfig(path).token, 'secret');
  const other = loadKubeconfig(path, 'other');
  assert.equal(other.namespace, 'else');
  assert.equal(other.token, undefined);
});

test('a token goes before a token file, as in kubectl', () => {
  const identity = loadKubeconfig(write(config({}, { token: 'a', tokenFile: 'token' })));
  assert.equal(identity.tokenFile, undefined);
  assert.equal(loadKubeconfig(write(config({}, { tokenFile: 'token' }))).tokenFile, join(directory, 'token'));
});

test('an exec plugin: bare names stay, paths are relative to the file', () => {
  const exec = (command: string) =>
    loadKubeconfig(
      write(
        config(
          {},
          {
            exec: {
              command,
              apiVersion: 'client.authentication.k8s.io/v1',
              args: null,
              env: [{ name: 'A', value: 'b' }],
            },
          },
        ),
      ),
    ).exec;
  assert.equal(exec('aws')?.command, 'aws');
  assert.equal(exec('./bin/login')?.command, join(directory, 'bin/login'));
  assert.deepEqual(exec('aws')?.env, { A: 'b' });
});

test('what cannot be used is refused with the file and the reason', () => {
  const cases: [unknown, RegExp][] = [
    [config({ 'insecure-skip-tls-verify': true }, {}), /insecure-skip-tls-verify/],
    [config({ 'proxy-url': 'http://proxy' }, {}), /proxy/],
    [config({ server: 'http://127.0.0.1' }, {}), /not https/],
    [config({ server: 'nowhere' }, {}), /no URL/],
    [config({}, { 'client-certificate-data': base64('C') }), /not both/],
    [config({}, { username: 'a', password: 'b' }), /way to log in/],
    [config({}, {}, { cluster: 'missing' }), /no cluster 'missing'/],
    [{ ...config({}, {}), 'current-context': 'nope' }, /no context 'nope'; its contexts: here, other/],
    [{}, /no current-context/],
    ['a: [', /no YAML/],
    ['[]', /no kubeconfig/],
  ];
  for (const [content, pattern] of cases) {
    const path = write(content);
    assert.throws(
      () => loadKubeconfig(path),
      (error) =>
        isSluiceError(error, 'InputInvalid') && pattern.test(error.message) && error.message.includes(path),
      String(pattern),
    );
  }
  assert.throws(
    () => loadKubeconfig(join(directory, 'absent')),
    (error) => isSluiceError(error, 'NotFound'),
  );
});

test('found as kubectl finds it: the option, KUBECONFIG, then the Pod', () => {
  const first = write(config({ server: 'https://first' }, {}));
  const second = write(config({ server: 'https://second' }, {}));
  const env = { KUBECONFIG: `${join(directory, 'absent')}:${first}` };
  assert.equal(findKubeconfig({ env }).server, 'https://first');
  assert.equal(findKubeconfig({ env, path: second }).server, 'https://second');
  assert.throws(() => findKubeconfig({ env: { KUBECONFIG: '/absent' } }), /no kubeconfig: \/absent/);
});

test('inside a Pod: the ServiceAccount, an IPv6 address in brackets', () => {
  const account = join(directory, 'serviceaccount');
  mkdirSync(account);
  writeFileSync(join(account, 'ca.crt'), 'CA');
  writeFileSync(join(account, 'namespace'), 'mine\n');
  const identity = inCluster({ KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '443' }, account);
  assert.equal(identity.server, 'https://[fd00::1]:443');
  assert.equal(identity.namespace, 'mine');
  assert.equal(identity.tokenFile, join(account, 'token'));
  assert.throws(() => inCluster({}, account), /no Pod/);
});

test('what a credential plugin prints is checked', () => {
  const plugin = { command: 'login', apiVersion: 'client.authentication.k8s.io/v1' };
  const print = (value: object) =>
    JSON.stringify({ apiVersion: plugin.apiVersion, kind: 'ExecCredential', ...value });
  const good = print({ status: { token: 't', expirationTimestamp: '2026-01-01T00:00:00Z' } });
  assert.deepEqual(parseExecCredential(good, plugin), {
    credential: { token: 't' },
    expiresMs: Date.parse('2026-01-01T00:00:00Z'),
  });
  for (const text of [
    'not json',
    print({ kind: 'Other' }),
    print({ status: {} }),
    print({ status: { clientCertificateData: 'c' } }),
  ]) {
    assert.throws(
      () => parseExecCredential(text, plugin),
      (error) => isSluiceError(error, 'Unauthorized'),
      text,
    );
  }
});
