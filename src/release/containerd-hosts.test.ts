import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parse } from 'smol-toml';
import type { ImageDigestMirrorSet } from '../api/resources.ts';
import { containerdHosts, containerdHostsMark } from './containerd-hosts.ts';

const files = { ca: '/etc/sluice/ca.crt', cert: '/etc/sluice/node.crt', key: '/etc/sluice/node.key' };
const nodes = ['10.0.0.11:22625', '10.0.0.12:22625'];
type Entry = NonNullable<ImageDigestMirrorSet['spec']['imageDigestMirrors']>[number];

function hosts(entries: readonly Entry[], ownHost = nodes[1]): Map<string, Record<string, unknown>> {
  const sets: ImageDigestMirrorSet[] = [
    { metadata: { name: 'sluice' }, spec: { imageDigestMirrors: [...entries] } } as ImageDigestMirrorSet,
  ];
  const made = containerdHosts({ sets, registryPort: 22625, ownHost, files });
  return new Map(
    [...made].map(([host, text]) => [
      host,
      JSON.parse(JSON.stringify(parse(text))) as Record<string, unknown>,
    ]),
  );
}

const mirrors = (repository: string) => nodes.map((node) => `${node}/${repository}`);

test('every repository of a host leads to every control-plane node, this one first, by digest, with a certificate', () => {
  const made = hosts([
    { source: 'quay.example/ocp/release', mirrors: mirrors('openshift/release') },
    { source: 'quay.example/extra', mirrors: mirrors('extra') },
  ]);
  assert.deepEqual([...made.keys()], ['quay.example']);
  const proof = { capabilities: ['pull'], ca: files.ca, client: [[files.cert, files.key]] };
  assert.deepEqual(made.get('quay.example'), {
    server: 'https://quay.example',
    host: { [`https://${nodes[1]}`]: proof, [`https://${nodes[0]}`]: proof },
  });
  assert.deepEqual(Object.keys(made.get('quay.example')?.host as object)[0], `https://${nodes[1]}`);
});

test('a source that is never to be contacted, and a name that nobody resolves, end at a mirror', () => {
  const never = hosts([
    { source: 'quay.example/a', mirrors: mirrors('a'), mirrorSourcePolicy: 'NeverContactSource' },
  ]).get('quay.example');
  assert.equal(never?.server, `https://${nodes[1]}`);
  assert.deepEqual([never?.ca, never?.capabilities], [files.ca, ['pull']]);
  const both = hosts([
    { source: 'quay.example/a', mirrors: mirrors('a'), mirrorSourcePolicy: 'NeverContactSource' },
    { source: 'quay.example/b', mirrors: mirrors('b') },
  ]).get('quay.example');
  assert.equal(both?.server, 'https://quay.example');
  assert.equal(
    hosts([{ source: 'docker.io/a', mirrors: mirrors('a') }]).get('docker.io')?.server,
    'https://registry-1.docker.io',
  );
});

test('mirrors of others, wildcards and names that are no directory are left alone; P8 a literal of IPv6 is no directory', () => {
  const made = hosts([
    { source: 'quay.example/a', mirrors: ['mirror.example/a'] },
    { source: '*.example', mirrors: mirrors('a') },
    { source: '../etc/a', mirrors: mirrors('a') },
    { source: '[fd00::1]:5000/a', mirrors: mirrors('a') },
    { source: 'registry.example:5000/a', mirrors: mirrors('a') },
  ]);
  assert.deepEqual([...made.keys()], ['registry.example:5000']);
});

test('the file bears our mark, by which it is known again', () => {
  const sets = [
    {
      metadata: { name: 'a' },
      spec: { imageDigestMirrors: [{ source: 'q.example/a', mirrors: mirrors('a') }] },
    },
  ] as ImageDigestMirrorSet[];
  for (const text of containerdHosts({ sets, registryPort: 22625, files }).values()) {
    assert.ok(text.startsWith(containerdHostsMark));
  }
});
