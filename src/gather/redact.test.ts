import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { test } from 'node:test';
import { createRedactor, removed, secretFacts, withoutSecrets } from './redact.ts';

test('a secret that it was told of is nowhere, in base64 and line by line neither', () => {
  const redactor = createRedactor();
  redactor.learn('correct horse battery');
  redactor.learn('user:$2y$05$abc\nother-line-of-it');
  const base64 = Buffer.from('correct horse battery').toString('base64');
  const text = redactor.text(`a correct horse battery b ${base64} c other-line-of-it d`);
  assert.equal(text, `a ${removed} b ${removed} c ${removed} d`);
});

test('short values are words that mean something else', () => {
  const redactor = createRedactor();
  redactor.learn('true');
  assert.equal(redactor.text('it is true'), 'it is true');
});

const pem = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({
  type: 'pkcs8',
  format: 'pem',
});
const forms: readonly [string, string, string][] = [
  ['a private key', `x ${pem} y`, `x ${removed}\n y`],
  ['a private key that was cut', `x ${String(pem).slice(0, 90)}`, `x ${removed}`],
  ['a token', 'token eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJ4In0.c2ln end', `token ${removed} end`],
  ['a bcrypt hash', 'openshift:$2y$05$abcdefghijklmnopqrstuv0123456789', `openshift:${removed}`],
  ['a header', 'authorization: Bearer abcdef0123456789', `authorization: Bearer ${removed}`],
  [
    'an address',
    'https://user:hunter22@registry.example/v2/',
    `https://user:${removed}@registry.example/v2/`,
  ],
  ['YAML', 'a: 1\n  password: hunter22\n  b: 2', `a: 1\n  password: "${removed}"\n  b: 2`],
  ['JSON', '{"auth":"dXNlcjpwYXNz","host":"x"}', `{"auth":"${removed}","host":"x"}`],
  ['TOML', 'bearer_token = "abc defg"', `bearer_token = "${removed}"`],
  ['an environment', 'REGISTRY_PASSWORD=hunter22 next', `REGISTRY_PASSWORD="${removed}" next`],
];
for (const [what, given, wanted] of forms) {
  test(`known by its form: ${what}`, () => assert.equal(createRedactor().text(given), wanted));
}

test('words about secrets stay: names of objects, keys of others, times', () => {
  const text = 'secret "registry-auth" was not found; the key 0123456789abcdef signed it; tokenExpiry 3600';
  assert.equal(createRedactor().text(text), text);
});

test('of an object goes what tells a secret by its place', () => {
  const pod = {
    metadata: {
      name: 'x',
      managedFields: [{ manager: 'kubectl' }],
      annotations: {
        'kubectl.kubernetes.io/last-applied-configuration': '{"data":"hunter22"}',
        other: 'stays',
      },
    },
    spec: {
      containers: [
        {
          env: [
            { name: 'DB_PASS', value: 'hunter22' },
            { name: 'MODE', value: 'fast' },
          ],
        },
      ],
    },
  };
  assert.deepEqual(withoutSecrets(pod), {
    metadata: { name: 'x', annotations: { other: 'stays' } },
    spec: {
      containers: [
        {
          env: [
            { name: 'DB_PASS', value: removed },
            { name: 'MODE', value: 'fast' },
          ],
        },
      ],
    },
  });
  const secret = {
    metadata: { name: 's', namespace: 'n' },
    type: 'Opaque',
    data: { password: 'aHVudGVyMjI=' },
  };
  assert.deepEqual(JSON.parse(JSON.stringify(secretFacts(secret))), {
    name: 's',
    namespace: 'n',
    type: 'Opaque',
    keys: { password: '8 bytes' },
  });
});
