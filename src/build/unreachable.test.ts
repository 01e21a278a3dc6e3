import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { type AddressInfo, createServer as createPlainServer } from 'node:net';
import { type TestContext, test } from 'node:test';
import { isSluiceError } from '../errors/error.ts';
import { createRegistryOpener } from './registry-source.ts';
import { nextWhereUnreachable } from './unreachable.ts';

/** What a person is told to do where this registry cannot be read. */
async function nextAt(t: TestContext, host: string, env: NodeJS.ProcessEnv = {}): Promise<string> {
  const opener = createRegistryOpener({ env: { HOME: '/nonexistent', ...env } });
  t.after(() => opener.close());
  const source = await opener.open({ host, repository: 'a' });
  const error: unknown = await source.manifest('a', '1').catch((thrown: unknown) => thrown);
  assert.ok(isSluiceError(error, 'Unreachable'), String(error));
  return error.next;
}

test('where a registry cannot be reached it is said what to look at', async (t) => {
  const free = createPlainServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => free.once('listening', resolve));
  const { port } = free.address() as AddressInfo;
  await new Promise((resolve) => free.close(resolve));
  assert.match(await nextAt(t, `127.0.0.1:${port}`), /name and port .* network .*HTTPS_PROXY/);

  const plain = createServer((_, response) => response.end()).listen(0, '127.0.0.1');
  t.after(() => plain.close());
  await new Promise((resolve) => plain.once('listening', resolve));
  const { port: plainPort } = plain.address() as AddressInfo;
  assert.match(
    await nextAt(t, `127.0.0.1:${plainPort}`),
    new RegExp(`--insecure-registry 127\\.0\\.0\\.1:${plainPort}\\.`),
  );

  const behind = await nextAt(t, 'quay.example', { HTTPS_PROXY: `http://user:secret@127.0.0.1:${port}` });
  assert.match(behind, new RegExp(`the proxy 127\\.0\\.0\\.1:${port} \\(HTTPS_PROXY\\) .*NO_PROXY`));
  assert.doesNotMatch(behind, /secret/);
});

for (const [code, wanted] of [
  ['ENOTFOUND', /name is right .* resolve it/],
  ['SELF_SIGNED_CERT_IN_CHAIN', /--ca FILE, or .*\/etc\/containers\/certs\.d\/quay\.example:5000\./],
  ['ERR_TLS_CERT_ALTNAME_INVALID', /Name it as its certificate does/],
  ['CERT_HAS_EXPIRED', /clock/],
  ['ETIMEDOUT', /name and port .* network/],
] as const) {
  test(`${code} of a registry leads to what may be wrong`, () => {
    const cause = Object.assign(new Error('x'), { code });
    const url = new URL('https://quay.example:5000/v2/a/manifests/1');
    assert.match(
      nextWhereUnreachable(cause, url, () => undefined),
      wanted,
    );
  });
}
