import assert from 'node:assert/strict';
import {
  type Answer,
  assertFailure,
  type ContractCase,
  type Environment,
  type Loose,
} from './environment.ts';

/** Pod security standards: the labels of a Namespace, and what its Pods may be. */

const label = (name: string) => `pod-security.kubernetes.io/${name}`;
const good = {
  allowPrivilegeEscalation: false,
  runAsNonRoot: true,
  capabilities: { drop: ['ALL'] },
  seccompProfile: { type: 'RuntimeDefault' },
};
const container = (securityContext: object = good, more: object = {}): Loose => ({
  name: 'c',
  image: 'example.com/i:1',
  securityContext,
  ...more,
});
const podSpec = (...containers: object[]): Loose => ({ automountServiceAccountToken: false, containers });

async function ask(env: Environment, labels: Record<string, string>): Promise<Answer> {
  return await env.request('PATCH', `/api/v1/namespaces/${env.namespace}`, {
    body: { metadata: { labels } },
    headers: { 'content-type': 'application/merge-patch+json' },
  });
}

async function demand(env: Environment, labels: Record<string, string>): Promise<Answer> {
  const answer = await ask(env, labels);
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  return answer;
}

/** A real API server may judge the first moments by a Namespace that it has not heard anew. */
async function settled(env: Environment): Promise<void> {
  for (let left = 100; left > 0; left -= 1) {
    const answer = await create(env, podSpec(container({ privileged: true })));
    if (answer.status === 403) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  assert.fail('the standard was not enforced');
}

const create = (env: Environment, spec: Loose, metadata: object = {}): Promise<Answer> =>
  env.request('POST', `/api/v1/namespaces/${env.namespace}/pods`, {
    query: { dryRun: 'All' },
    body: { metadata: { name: 'p', ...metadata }, spec },
  });

type Row = readonly [what: string, violation: string | undefined, spec: Loose, metadata?: object];

/** Each Pod is taken, or refused in exactly these words. */
async function judge(env: Environment, standard: string, rows: readonly Row[]): Promise<void> {
  for (const [what, violation, spec, metadata] of rows) {
    const answer = await create(env, spec, metadata);
    if (violation === undefined) {
      assert.equal(answer.status, 201, `${what}: ${JSON.stringify(answer.body)}`);
      continue;
    }
    assertFailure(answer, 403, 'Forbidden');
    const message = `pods "p" is forbidden: violates PodSecurity "${standard}": ${violation}`;
    assert.equal(answer.body.message, message, what);
    assert.deepEqual(answer.body.details, { name: 'p', kind: 'pods' });
  }
}

function warnings(answer: Answer): string[] {
  const { warning } = answer.headers;
  return [warning ?? []]
    .flat()
    .flatMap((one) => one.match(/299 - "(?:[^"\\]|\\.)*"/g) ?? [])
    .map((one) => JSON.parse(one.slice('299 - '.length)) as string);
}

const probe = { httpGet: { port: 80, host: 'example.com' } };

const baseline: readonly Row[] = [
  ['an ordinary Pod', undefined, podSpec(container({}))],
  [
    'host namespaces',
    'host namespaces (hostNetwork=true, hostPID=true)',
    { ...podSpec(container({})), hostNetwork: true, hostPID: true },
  ],
  [
    'two that are privileged',
    'privileged (containers "a", "c" must not set securityContext.privileged=true)',
    {
      ...podSpec(container({ privileged: true })),
      initContainers: [{ ...container({ privileged: true }), name: 'a' }],
    },
  ],
  [
    'capabilities',
    'non-default capabilities (container "c" must not include "NET_ADMIN", "SYS_TIME" in securityContext.capabilities.add)',
    podSpec(container({ capabilities: { add: ['SYS_TIME', 'NET_ADMIN', 'CHOWN'] } })),
  ],
  [
    'a path of the host',
    'hostPath volumes (volume "h")',
    { ...podSpec(container({})), volumes: [{ name: 'h', hostPath: { path: '/' } }] },
  ],
  [
    'ports of the host',
    'hostPort (container "c" uses hostPorts 8080, 9090)',
    podSpec(
      container(
        {},
        {
          ports: [
            { containerPort: 9, hostPort: 9090 },
            { containerPort: 8, hostPort: 8080 },
          ],
        },
      ),
    ),
  ],
  [
    'a probe of another host',
    'probe or lifecycle host (container "c" uses probe or lifecycle host "example.com")',
    podSpec(container({}, { livenessProbe: probe, lifecycle: { preStop: probe } })),
  ],
  [
    'SELinux',
    'seLinuxOptions (pod and container "c" set forbidden securityContext.seLinuxOptions: type "spc_t"; user may not be set)',
    {
      ...podSpec(container({ seLinuxOptions: { user: 'u' } })),
      securityContext: { seLinuxOptions: { type: 'spc_t' } },
    },
  ],
  [
    'seccomp',
    'seccompProfile (pod must not set securityContext.seccompProfile.type to "Unconfined")',
    { ...podSpec(container({})), securityContext: { seccompProfile: { type: 'Unconfined' } } },
  ],
  [
    'AppArmor',
    'forbidden AppArmor profile (container "c" must not set AppArmor profile type to "Unconfined")',
    podSpec(container({ appArmorProfile: { type: 'Unconfined' } })),
  ],
  [
    'sysctls',
    'forbidden sysctls (kernel.msgmax)',
    {
      ...podSpec(container({})),
      securityContext: {
        sysctls: [
          { name: 'kernel.msgmax', value: '1' },
          { name: 'net.ipv4.tcp_wmem', value: '1' },
        ],
      },
    },
  ],
  [
    'several faults, in their order',
    'host namespaces (hostIPC=true), hostPath volumes (volume "h"), privileged (container "c" must not set securityContext.privileged=true)',
    {
      ...podSpec(container({ privileged: true })),
      hostIPC: true,
      volumes: [{ name: 'h', hostPath: { path: '/' } }],
    },
  ],
];

const restricted: readonly Row[] = [
  ['what is restricted of itself', undefined, podSpec(container())],
  [
    'an ordinary Pod',
    'allowPrivilegeEscalation != false (container "c" must set securityContext.allowPrivilegeEscalation=false), unrestricted capabilities (container "c" must set securityContext.capabilities.drop=["ALL"]), runAsNonRoot != true (pod or container "c" must set securityContext.runAsNonRoot=true), seccompProfile (pod or container "c" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")',
    podSpec(container({})),
  ],
  [
    'what the Pod says holds for its containers',
    undefined,
    {
      ...podSpec(container({ allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } })),
      securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
    },
  ],
  [
    'root by a container',
    'runAsNonRoot != true (container "c" must not set securityContext.runAsNonRoot=false)',
    { ...podSpec(container({ ...good, runAsNonRoot: false })), securityContext: { runAsNonRoot: true } },
  ],
  [
    'user 0',
    'runAsUser=0 (pod must not set runAsUser=0)',
    { ...podSpec(container()), securityContext: { runAsUser: 0 } },
  ],
  [
    'more than one may add',
    'unrestricted capabilities (container "c" must not include "CHOWN" in securityContext.capabilities.add)',
    podSpec(container({ ...good, capabilities: { drop: ['ALL'], add: ['CHOWN', 'NET_BIND_SERVICE'] } })),
  ],
  [
    'volumes',
    'restricted volume types (volumes "h", "n" use restricted volume types "hostPath", "nfs")',
    {
      ...podSpec(container()),
      volumes: [
        { name: 'h', hostPath: { path: '/' } },
        { name: 'n', nfs: { server: 's', path: '/' } },
        { name: 'e', emptyDir: {} },
      ],
    },
  ],
];

export const podSecurityCases: readonly ContractCase[] = [
  {
    name: 'baseline refuses what reaches out of a Pod, each in its words',
    async run(env) {
      await demand(env, { [label('enforce')]: 'baseline' });
      await settled(env);
      await judge(env, 'baseline:latest', baseline);
    },
  },
  {
    name: 'restricted refuses what does not restrict itself, each in its words',
    async run(env) {
      await demand(env, { [label('enforce')]: 'restricted' });
      await settled(env);
      await judge(env, 'restricted:latest', restricted);
    },
  },
  {
    name: 'a standard can be that of an older version',
    async run(env) {
      await demand(env, { [label('enforce')]: 'restricted', [label('enforce-version')]: 'v1.18' });
      await settled(env);
      await judge(env, 'restricted:v1.18', [
        [
          'no capabilities and no seccomp were asked for yet',
          undefined,
          podSpec(container({ allowPrivilegeEscalation: false, runAsNonRoot: true })),
        ],
        [
          'a sysctl that was allowed later',
          'forbidden sysctls (net.ipv4.tcp_wmem)',
          {
            ...podSpec(container()),
            securityContext: { sysctls: [{ name: 'net.ipv4.tcp_wmem', value: '1' }] },
          },
        ],
        ['a probe of another host', undefined, podSpec(container(good, { livenessProbe: probe }))],
      ]);
    },
  },
  {
    name: 'what makes Pods is taken, with a warning',
    async run(env) {
      await demand(env, { [label('enforce')]: 'baseline' });
      await settled(env);
      const template = {
        metadata: { labels: { app: 'a' } },
        spec: podSpec(container({ privileged: true })),
      };
      const answer = await env.request('POST', `/apis/apps/v1/namespaces/${env.namespace}/deployments`, {
        query: { dryRun: 'All' },
        body: { metadata: { name: 'd' }, spec: { selector: { matchLabels: { app: 'a' } }, template } },
      });
      assert.equal(answer.status, 201, JSON.stringify(answer.body));
      assert.deepEqual(warnings(answer), [
        'would violate PodSecurity "baseline:latest": privileged (container "c" must not set securityContext.privileged=true)',
      ]);
    },
  },
  {
    name: 'a level that only warns lets Pods in',
    async run(env) {
      await demand(env, { [label('enforce')]: 'baseline', [label('warn')]: 'restricted' });
      await settled(env);
      const answer = await create(env, podSpec(container({ ...good, runAsNonRoot: false })));
      assert.equal(answer.status, 201, JSON.stringify(answer.body));
      assert.deepEqual(warnings(answer), [
        'would violate PodSecurity "restricted:latest": runAsNonRoot != true (container "c" must not set securityContext.runAsNonRoot=false)',
      ]);
    },
  },
  {
    name: 'labels that are no standard are refused',
    async run(env) {
      const answer = await ask(env, { [label('enforce')]: 'strict', [label('warn-version')]: '1.30' });
      assertFailure(answer, 422, 'Invalid');
      assert.deepEqual(
        answer.body.details.causes.map(({ field, message }: Loose) => `${field}: ${message}`),
        [
          `metadata.labels[${label('enforce')}]: Invalid value: "strict": must be one of privileged, baseline, restricted`,
          `metadata.labels[${label('warn-version')}]: Invalid value: "1.30": must be "latest" or "v1.x"`,
        ],
      );
    },
  },
  {
    name: 'a stricter level warns of the Pods that stand, and leaves them',
    async run(env) {
      const pods = `/api/v1/namespaces/${env.namespace}/pods`;
      for (const name of ['one', 'two']) {
        const spec = { ...podSpec(container({ privileged: true })), nodeSelector: { none: 'x' } };
        const made = await env.request('POST', pods, { body: { metadata: { name }, spec } });
        assert.equal(made.status, 201, JSON.stringify(made.body));
      }
      let told: string[] = [];
      // A real API server may not have heard of both Pods yet.
      for (let left = 100; left > 0 && !told[1]?.includes('other'); left -= 1) {
        await demand(env, { [label('enforce')]: 'privileged' });
        told = warnings(await demand(env, { [label('enforce')]: 'baseline' }));
      }
      assert.deepEqual(told, [
        `existing pods in namespace "${env.namespace}" violate the new PodSecurity enforce level "baseline:latest"`,
        'one (and 1 other pod): privileged',
      ]);
      const labelled = await env.request('PATCH', `${pods}/one`, {
        body: { metadata: { labels: { a: 'b' } } },
        headers: { 'content-type': 'application/merge-patch+json' },
      });
      assert.equal(labelled.status, 200);
      for (const name of ['one', 'two']) {
        await env.request('DELETE', `${pods}/${name}`, { body: { gracePeriodSeconds: 0 } });
      }
    },
  },
];
