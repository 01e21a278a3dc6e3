import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Job } from '../api/core.ts';
import { jobName, type RunContext, renderJob } from './job.ts';

const digest = `sha256:${'b'.repeat(64)}`;
const context: RunContext = {
  runID: 'a1b2c3d4e5',
  platform: 'standalone',
  namespace: 'openshift-update-preflight',
  serviceAccount: 'preflight-reader',
  timeoutMs: 90_500,
  source: { version: '1.0.0', digest: `sha256:${'a'.repeat(64)}` },
  target: {
    version: '1.1.0',
    digest,
    image: `quay.example/release@${digest}`,
    kernel: '6.1',
    osVersion: '41.2',
  },
};

function manifest(change: (job: Job) => void = () => {}): Job {
  const job: Job = {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: 'demo-check', namespace: 'openshift-demo' },
    spec: {
      backoffLimit: 6,
      template: {
        spec: {
          serviceAccountName: 'demo-admin',
          containers: [
            {
              name: 'check',
              image: `quay.example/check@${digest}`,
              env: [
                { name: 'SLUICE_RUN_ID', value: 'forged' },
                { name: 'MODE', value: 'fast' },
              ],
            },
          ],
        },
      },
    },
  };
  change(job);
  return job;
}

test('P-30 a check runs under the reading identity, in the preflight namespace, whatever its manifest says', () => {
  const job = renderJob(manifest(), 'demo-check', context);
  assert.equal(job.metadata.namespace, 'openshift-update-preflight');
  assert.equal(job.metadata.name, 'demo-check-a1b2c3d4e5');
  assert.deepEqual(job.metadata.labels, {
    'sluice.dev/preflight-run': 'a1b2c3d4e5',
    'sluice.dev/preflight-check': 'demo-check',
  });
  assert.equal(job.spec.template.spec.serviceAccountName, 'preflight-reader');
  assert.equal(job.spec.backoffLimit, 0);
  assert.equal(job.spec.activeDeadlineSeconds, 91);
  assert.equal(job.spec.template.spec.restartPolicy, 'Never');
});

test('P-22 P-24 every security field is set', () => {
  const pod = renderJob(manifest(), 'demo-check', context).spec.template.spec;
  assert.deepEqual(pod.securityContext, {
    runAsNonRoot: true,
    seccompProfile: { type: 'RuntimeDefault' },
    runAsUser: 65532,
  });
  for (const container of [...(pod.initContainers ?? []), ...pod.containers]) {
    assert.deepEqual(container.securityContext, {
      allowPrivilegeEscalation: false,
      privileged: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
  }
  assert.equal(
    renderJob(manifest(), 'demo-check', { ...context, platform: 'openshift' }).spec.template.spec
      .securityContext?.runAsUser,
    undefined,
  );
});

test('P-06 a check tolerates cordoned and control-plane nodes', () => {
  const keys = renderJob(manifest(), 'demo-check', context).spec.template.spec.tolerations?.map(
    (each) => each.key,
  );
  assert.ok(keys?.includes('node.kubernetes.io/unschedulable'));
  assert.ok(keys?.includes('node-role.kubernetes.io/control-plane'));
});

test('the check is told its run, and cannot be told another', () => {
  const env = renderJob(manifest(), 'demo-check', context).spec.template.spec.containers[0]?.env ?? [];
  assert.deepEqual(Object.fromEntries(env.map((each) => [each.name, each.value])), {
    MODE: 'fast',
    SLUICE_RUN_ID: 'a1b2c3d4e5',
    SLUICE_CHECK: 'demo-check',
    SLUICE_SOURCE_VERSION: '1.0.0',
    SLUICE_SOURCE_DIGEST: `sha256:${'a'.repeat(64)}`,
    SLUICE_TARGET_VERSION: '1.1.0',
    SLUICE_TARGET_DIGEST: digest,
    SLUICE_KERNEL: '6.1',
    SLUICE_OS_VERSION: '41.2',
  });
});

test('the manifests of the release are copied out of the payload image for the check', () => {
  const pod = renderJob(manifest(), 'demo-check', context).spec.template.spec;
  assert.equal(pod.initContainers?.[0]?.image, `quay.example/release@${digest}`);
  assert.deepEqual(pod.initContainers?.[0]?.command, ['cp', '-r', '/release-manifests/.', '/copy/']);
  assert.ok(
    pod.containers[0]?.volumeMounts?.some(
      (mount) => mount.mountPath === '/release-manifests' && mount.readOnly,
    ),
  );
});

for (const [name, change, words] of [
  [
    'an image by tag',
    (job: Job) =>
      Object.assign(job.spec.template.spec.containers[0] ?? {}, { image: 'quay.example/check:1' }),
    /not named by digest/,
  ],
  [
    'a volume of the host',
    (job: Job) =>
      Object.assign(job.spec.template.spec, { volumes: [{ name: 'h', hostPath: { path: '/' } }] }),
    /hostPath/,
  ],
  [
    'a Secret',
    (job: Job) =>
      Object.assign(job.spec.template.spec, { volumes: [{ name: 's', secret: { secretName: 'x' } }] }),
    /secret/,
  ],
  ...(
    [
      [
        'a Secret in a variable',
        { env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 'x', key: 'y' } } }] },
        /variable A comes from a secretKeyRef/,
      ],
      ['a Secret as variables', { envFrom: [{ secretRef: { name: 'x' } }] }, /from a secretRef/],
      ['a port of the host', { ports: [{ containerPort: 80, hostPort: 80 }] }, /sets ports/],
      ['a hook', { lifecycle: { postStart: { exec: { command: ['x'] } } } }, /sets lifecycle/],
      ['a probe', { livenessProbe: { exec: { command: ['x'] } } }, /sets livenessProbe/],
      ['a device', { volumeDevices: [{ name: 'd', devicePath: '/dev/d' }] }, /sets volumeDevices/],
    ] as const
  ).map(
    ([name, fields, words]) =>
      [name, (job: Job) => Object.assign(job.spec.template.spec.containers[0] ?? {}, fields), words] as const,
  ),
  [
    'a projected Secret',
    (job: Job) =>
      Object.assign(job.spec.template.spec, {
        volumes: [{ name: 's', projected: { sources: [{ secret: { name: 'x' } }] } }],
      }),
    /projects a secret/,
  ],
  [
    'the network of the host',
    (job: Job) => Object.assign(job.spec.template.spec, { hostNetwork: true }),
    /of the host/,
  ],
  [
    'two containers',
    (job: Job) => job.spec.template.spec.containers.push({ name: 'b', image: 'x' }),
    /only one can answer/,
  ],
  ['P-112 a selector', (job: Job) => Object.assign(job.spec, { selector: {} }), /selector/],
] as const) {
  test(`refused: ${name}`, () => {
    assert.throws(() => renderJob(manifest(change), 'demo-check', context), words);
  });
}

test('a check may have variables of ConfigMaps and of itself', () => {
  const env = [
    { name: 'A', valueFrom: { configMapKeyRef: { name: 'x', key: 'y' } } },
    { name: 'B', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
  ];
  const envFrom = [{ prefix: 'P_', configMapRef: { name: 'x' } }];
  const change = (job: Job) => Object.assign(job.spec.template.spec.containers[0] ?? {}, { env, envFrom });
  const [container] = renderJob(manifest(change), 'demo-check', context).spec.template.spec.containers;
  assert.deepEqual(container?.env?.slice(0, 2), env);
  assert.deepEqual(container?.envFrom, envFrom);
});

test('P-40 the name of a Job follows from the run, is short enough, and stays a name', () => {
  assert.equal(jobName('a', 'r1r1'), 'a-r1r1');
  const long = jobName(`${'x'.repeat(51)}-y`, 'a1b2c3d4e5');
  assert.ok(long.length <= 63);
  assert.match(long, /^x+-a1b2c3d4e5$/);
});

test('P-14 P-112 each run has Jobs of its own: a new name, and so a new Pod and a new pull', () => {
  assert.notEqual(jobName('demo-check', 'run1run1'), jobName('demo-check', 'run2run2'));
  assert.equal(jobName('demo-check', 'run1run1'), jobName('demo-check', 'run1run1'));
  assert.ok(jobName('a'.repeat(47), 'run1run1run1run1').length <= 63);
});
