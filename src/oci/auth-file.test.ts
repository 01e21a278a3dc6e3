import assert from 'node:assert/strict';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { authFilePaths, type Credentials, createCredentialFinder } from './auth-file.ts';

let directory: string;
before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'sluice-auth-'));
});
after(() => rm(directory, { recursive: true }));

const auth = (text: string) => ({ auth: Buffer.from(text).toString('base64') });

async function find(document: unknown, host: string, repository: string): Promise<Credentials | undefined> {
  const path = join(directory, 'auth.json');
  await writeFile(path, typeof document === 'string' ? document : JSON.stringify(document));
  return await createCredentialFinder([{ path, required: true }]).find(host, repository);
}

test('the longest path that holds the repository wins; hosts are compared whole', async () => {
  const auths = {
    'quay.io': auth('host:1'),
    'quay.io/team': auth('team:2'),
    'quay.io/team/app': auth('app:3:with:colons'),
    'https://index.docker.io/v1/': auth('docker:4'),
    'https://old.example:5000/v2/': auth('old:5'),
  };
  const name = async (host: string, repository: string) => {
    const found = await find({ auths }, host, repository);
    return found !== undefined && 'username' in found ? `${found.username} ${found.password}` : undefined;
  };
  assert.equal(await name('quay.io', 'other/x'), 'host 1');
  assert.equal(await name('quay.io', 'team/x'), 'team 2');
  assert.equal(await name('quay.io', 'team/app'), 'app 3:with:colons');
  assert.equal(await name('quay.io', 'teammate/x'), 'host 1');
  assert.equal(await name('docker.io', 'library/x'), 'docker 4');
  assert.equal(await name('old.example:5000', 'x'), 'old 5');
  for (const host of ['evilquay.io', 'quay.io.evil', 'quay.io:8443', 'uay.io']) {
    assert.equal(await name(host, 'team/app'), undefined, host);
  }
});

test('identity tokens, plain members, helpers, and files that are broken', async () => {
  assert.deepEqual(await find({ auths: { a: { identitytoken: 't', auth: '' } } }, 'a', 'x'), {
    identityToken: 't',
  });
  assert.deepEqual(await find({ auths: { a: { username: 'u', password: 'p' } } }, 'a', 'x'), {
    username: 'u',
    password: 'p',
  });
  assert.equal(await find({ auths: { a: {} } }, 'a', 'x'), undefined);
  await assert.rejects(find({ auths: { a: auth('nocolon') } }, 'a', 'x'), { code: 'InputInvalid' });
  await assert.rejects(find('{', 'a', 'x'), { code: 'InputInvalid' });
  await assert.rejects(find({ credHelpers: { a: '../../bin/sh' } }, 'a', 'x'), { code: 'InputInvalid' });
  const helper = join(directory, 'docker-credential-test');
  await writeFile(
    helper,
    '#!/bin/sh\nread host\n[ "$host" = known ] || { echo "credentials not found in native keychain"; exit 1; }\necho "{\\"Username\\":\\"u\\",\\"Secret\\":\\"s $host\\"}"\n',
  );
  await chmod(helper, 0o755);
  const path = process.env.PATH;
  process.env.PATH = `${directory}:${path}`;
  try {
    const helpers = { credHelpers: { known: 'test', unknown: 'test' } };
    assert.deepEqual(await find(helpers, 'known', 'x'), { username: 'u', password: 's known' });
    assert.equal(await find(helpers, 'unknown', 'x'), undefined);
    assert.deepEqual(await find({ credsStore: 'test' }, 'known', 'x'), {
      username: 'u',
      password: 's known',
    });
  } finally {
    process.env.PATH = path;
  }
});

test('only a file that was named must be there', async () => {
  const absent = join(directory, 'absent');
  assert.equal(await createCredentialFinder([{ path: absent, required: false }]).find('a', 'b'), undefined);
  await assert.rejects(createCredentialFinder([{ path: absent, required: true }]).find('a', 'b'), {
    code: 'NotFound',
  });
  assert.deepEqual(authFilePaths({ REGISTRY_AUTH_FILE: '/r' }), [{ path: '/r', required: true }]);
  const paths = authFilePaths({ HOME: '/h', XDG_RUNTIME_DIR: '/run/u' }).map((each) => each.path);
  assert.equal(paths[0], '/run/u/containers/auth.json');
  assert.deepEqual(paths.slice(-2), ['/h/.config/containers/auth.json', '/h/.docker/config.json']);
});
