import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { ConfigMap, Container, Pod, PodSpec, Secret, Volume } from '../api/core.ts';
import { containerSpec } from './container-spec.ts';
import { ConfigError } from './environment.ts';
import { writeVolume } from './volume-files.ts';
import { references, serviceAccountPath, unsupported, volumeFiles, withServiceAccount } from './volumes.ts';

function pod(spec: Partial<PodSpec> = {}): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p', namespace: 'n', uid: 'u', labels: { b: '2', a: '1' } },
    spec: { containers: [{ name: 'main' }], ...spec },
  };
}

const map: ConfigMap = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'map' },
  data: { text: 'T' },
  binaryData: { bytes: Buffer.from([0, 255]).toString('base64') },
};
const secret: Secret = {
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'secret' },
  data: { key: Buffer.from('K').toString('base64') },
};

function files(volume: Omit<Volume, 'name'>) {
  return volumeFiles(
    pod(),
    { name: 'v', ...volume },
    {
      configMap: (name) => (name === 'map' ? map : undefined),
      secret: (name) => (name === 'secret' ? secret : undefined),
      token: (audience, seconds) => `token of ${audience} for ${seconds}`,
      nodeAddress: '10.0.0.1',
    },
  );
}

test('the files of each kind of volume', () => {
  assert.deepEqual([...(files({ configMap: { name: 'map' } })?.keys() ?? [])], ['text', 'bytes']);
  const picked = files({ configMap: { name: 'map', items: [{ key: 'text', path: 'a/b', mode: 0o400 }] } });
  assert.deepEqual(picked, new Map([['a/b', { bytes: Buffer.from('T'), mode: 0o400 }]]));
  assert.equal(files({ secret: { secretName: 'secret', defaultMode: 0o440 } })?.get('key')?.mode, 0o440);
  assert.equal(files({ emptyDir: {} }), undefined);
  const projected = files({
    projected: {
      sources: [
        { serviceAccountToken: { path: 'token', audience: 'x', expirationSeconds: 700 } },
        { configMap: { name: 'map', items: [{ key: 'text', path: 'ca.crt' }] } },
        { downwardAPI: { items: [{ path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } }] } },
      ],
    },
  });
  assert.equal(projected?.get('token')?.bytes.toString(), 'token of x for 700');
  assert.equal(projected?.get('labels')?.bytes.toString(), 'a="1"\nb="2"');
  assert.equal(projected?.get('ca.crt')?.bytes.toString(), 'T');
});

test('what is missing says so; what is optional may be; no path leads out', () => {
  assert.throws(() => files({ secret: { secretName: 'x' } }), new ConfigError('secret "x" not found'));
  assert.equal(files({ secret: { secretName: 'x', optional: true } })?.size, 0);
  assert.throws(
    () => files({ configMap: { name: 'map', items: [{ key: 'z', path: 'z' }] } }),
    /references non-existent config key: z/,
  );
  for (const path of ['../x', '/x', 'a/../../x', '']) {
    assert.throws(() => files({ configMap: { name: 'map', items: [{ key: 'text', path }] } }), /leads out/);
  }
});

test('the ServiceAccount is mounted where the Pod has none and wants one', () => {
  const added = withServiceAccount(pod({ initContainers: [{ name: 'i' }] }), true);
  assert.equal(added.spec.volumes?.length, 1);
  assert.equal(added.spec.containers[0]?.volumeMounts?.[0]?.mountPath, serviceAccountPath);
  assert.equal(added.spec.initContainers?.[0]?.volumeMounts?.[0]?.mountPath, serviceAccountPath);
  assert.equal(withServiceAccount(pod(), false).spec.volumes, undefined);
  assert.equal(
    withServiceAccount(pod({ automountServiceAccountToken: false }), true).spec.volumes,
    undefined,
  );
  assert.ok(withServiceAccount(pod({ automountServiceAccountToken: true }), false).spec.volumes);
  const own = pod({
    containers: [{ name: 'm', volumeMounts: [{ name: 'x', mountPath: serviceAccountPath }] }],
  });
  assert.equal(withServiceAccount(own, true), own);
  assert.deepEqual([...references(added).configMaps], ['kube-root-ca.crt']);
});

test('what this node does not do is named', () => {
  assert.match(unsupported(pod({ volumes: [{ name: 'h', hostPath: { path: '/' } }] })) ?? '', /hostPath/);
  assert.match(unsupported(pod({ volumes: [{ name: 'n', nfs: {} } as Volume] })) ?? '', /nfs/);
  assert.match(unsupported(pod({ hostPID: true })) ?? '', /hostPID/);
  const privileged = pod({ containers: [{ name: 'm', securityContext: { privileged: true } }] });
  assert.match(unsupported(privileged) ?? '', /privileged/);
  const adding = (add: string[]) =>
    unsupported(pod({ containers: [{ name: 'm', securityContext: { capabilities: { add } } }] }));
  assert.equal(adding(['NET_BIND_SERVICE', 'CHOWN']), undefined);
  for (const name of ['SYS_ADMIN', 'ALL', 'NET_RAW', 'CAP_SYS_ADMIN', 'sys_admin']) {
    assert.match(adding(['CHOWN', name]) ?? '', new RegExp(`the capability ${name} is not allowed`));
  }
  assert.equal(unsupported(pod({ volumes: [{ name: 'e', emptyDir: {} }] })), undefined);
});

test('a volume is brought to what it should hold, and no further', async (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-volume-'));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  const file = (text: string, mode = 0o644) => ({ bytes: Buffer.from(text), mode });
  assert.equal(
    await writeVolume(
      dir,
      new Map([
        ['a', file('1')],
        ['d/b', file('2', 0o400)],
      ]),
    ),
    true,
  );
  const inode = statSync(join(dir, 'a')).ino;
  assert.equal(
    await writeVolume(
      dir,
      new Map([
        ['a', file('1')],
        ['d/b', file('2', 0o400)],
      ]),
    ),
    false,
  );
  assert.equal(statSync(join(dir, 'a')).ino, inode);
  assert.equal(statSync(join(dir, 'd/b')).mode & 0o777, 0o400);
  assert.equal(await writeVolume(dir, new Map([['a', file('3')]])), true);
  assert.equal(readFileSync(join(dir, 'a'), 'utf8'), '3');
  assert.throws(() => statSync(join(dir, 'd/b')), /ENOENT/);
});

test('command and arguments against entrypoint and cmd, and who may be root', () => {
  const image = {
    digest: `sha256:${'0'.repeat(64)}`,
    user: '',
    entrypoint: ['/entry'],
    cmd: ['c1'],
    env: [],
    workingDir: '/w',
  } as const;
  const spec = (container: Partial<Container>, user = '') =>
    containerSpec({
      pod: pod(),
      container: { name: 'main', ...container },
      attempt: 0,
      image: { ...image, user },
      env: [{ name: 'X', value: '1' }],
      volumeDirectory: (volume) => `/v/${volume}`,
      logPath: '/log',
    });
  assert.deepEqual(spec({}).argv, ['/entry', 'c1']);
  assert.deepEqual(spec({ args: ['a$(X)'] }).argv, ['/entry', 'a1']);
  assert.deepEqual(spec({ command: ['/c'] }).argv, ['/c']);
  assert.deepEqual(spec({ command: ['/c'], args: ['a'] }).argv, ['/c', 'a']);
  assert.equal(spec({ resources: { limits: { memory: '1Mi', cpu: '250m' } } }).memoryBytes, 1_048_576);
  const nonRoot = { securityContext: { runAsNonRoot: true } };
  assert.throws(() => spec(nonRoot), /image will run as root/);
  assert.throws(() => spec(nonRoot, 'root'), /image will run as root/);
  assert.throws(() => spec(nonRoot, 'app'), /non-numeric user \(app\)/);
  assert.equal(spec(nonRoot, '1000:1000').user, undefined);
  assert.throws(
    () => spec({ securityContext: { runAsNonRoot: true, runAsUser: 0 } }),
    /breaks non-root policy/,
  );
});
