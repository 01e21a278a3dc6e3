import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readdirSync, realpathSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { applyObject } from '../src/kube/apply.ts';
import { type RunResult, run } from '../src/process/run.ts';
import { startTestCluster, type TestCluster } from './cluster.ts';
import { shippedManifests } from './shipped.ts';
import { needs } from './tier.ts';

/** The oldest that is held to work. */
const minorMin = 27;

/** The kubectl of the path, and one of each minor version that lies beside it. */
function programs(): string[] {
  const found = (process.env.PATH ?? '').split(delimiter).map((directory) => join(directory, 'kubectl'));
  for (const path of found) {
    try {
      const directory = dirname(realpathSync(path));
      const minors = readdirSync(directory).filter(
        (name) => Number(/^kubectl\.1\.(\d+)$/.exec(name)?.[1] ?? 0) >= minorMin,
      );
      return ['kubectl', ...minors.sort().map((name) => join(directory, name))];
    } catch {
      // Not in this directory.
    }
  }
  return ['kubectl'];
}

let cluster: TestCluster;
before(async () => {
  cluster = await startTestCluster();
  const files = ['00-namespaces.yaml', '10-preflight.yaml', '40-release-guard.yaml'];
  for (const object of await shippedManifests(files)) await applyObject(cluster.client, object);
});
after(() => cluster.close());

interface Shell {
  /** Runs kubectl and fails where it fails. */
  ok(...args: string[]): Promise<string>;
  /** Runs kubectl, whatever comes. */
  try(...args: string[]): Promise<RunResult>;
  withInput(input: string, ...args: string[]): Promise<string>;
  /** `kubectl edit` with a sed expression for an editor. */
  edit(expression: string, ...args: string[]): Promise<void>;
}

function shell(program: string, namespace: string, kubeconfig = cluster.kubeconfig): Shell {
  const env = { ...process.env, KUBECONFIG: kubeconfig, HOME: cluster.dir, KUBECTL_EXTERNAL_DIFF: 'diff -u' };
  const attempt = (args: string[], input?: string) =>
    run(program, ['--namespace', namespace, ...args], { env, ...(input === undefined ? {} : { input }) });
  const must = async (args: string[], input?: string): Promise<string> => {
    const result = await attempt(args, input);
    assert.equal(result.code, 0, `kubectl ${args.join(' ')}: ${result.stderr}${result.stdout}`);
    return result.stdout;
  };
  return {
    ok: (...args) => must(args),
    try: (...args) => attempt(args),
    withInput: (input, ...args) => must(args, input),
    async edit(expression, ...args) {
      const editing = { ...env, KUBE_EDITOR: `sed -i ${expression}` };
      const result = await run(program, ['--namespace', namespace, 'edit', ...args], { env: editing });
      assert.equal(result.code, 0, result.stderr);
    },
  };
}

async function namespaced(program: string, prefix: string): Promise<{ kubectl: Shell; namespace: string }> {
  const namespace = `${prefix}-${Math.random().toString(36).slice(2, 8)}`;
  const { client } = cluster;
  await client.create(client.kinds.Namespace, { metadata: { name: namespace } });
  // Without it a real API server takes no Pod; its controllers make it a moment later.
  if (cluster.engine === 'real') {
    const { ServiceAccount } = client.kinds;
    const present = async () => (await client.tryGet(ServiceAccount, 'default', namespace)) !== undefined;
    await eventually(present, 'the ServiceAccount of the namespace');
  }
  return { kubectl: shell(program, namespace), namespace };
}

async function eventually(ask: () => Promise<boolean>, what: string): Promise<void> {
  for (const end = Date.now() + 20_000; !(await ask()); ) {
    assert.ok(Date.now() < end, `waited in vain for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

const releases = (...versions: string[]) => ({
  apiVersion: 'machineconfiguration.openshift.io/v1',
  kind: 'InternalReleaseImage',
  metadata: { name: 'cluster' },
  spec: { releases: versions.map((version) => ({ name: `ocp-release-bundle-${version}-x86_64` })) },
});

const deployment = (image: string, replicas = 2) => `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replicas: ${replicas}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: ${image}
        env:
        - {name: A, value: "1"}
`;

/** Publishes what is in use, as the controller does. */
async function setInUse(kubectl: Shell, names: string): Promise<void> {
  const inUse = {
    apiVersion: 'sluice.dev/v1',
    kind: 'PolicyFacts',
    metadata: { name: 'sluice-in-use' },
    data: { state: 'Known', names, digests: '' },
  };
  await kubectl.withInput(JSON.stringify(inUse), 'apply', '-f', '-');
}

/** Does something to releases while nothing is in use, and every engine has heard of it. */
async function unguarded(kubectl: Shell, act: () => Promise<void>): Promise<void> {
  await setInUse(kubectl, '');
  const probe = ['delete', 'internalreleaseimage', 'cluster', '--dry-run=server'];
  await eventually(async () => (await kubectl.try(...probe)).code === 0, 'the release to be free');
  await act();
}

for (const program of programs()) {
  describe(
    program === 'kubectl' ? 'kubectl' : `kubectl ${/1\.\d+$/.exec(program)?.[0]}`,
    needs('kubectl'),
    () => {
      test('creates, shows, changes and deletes', async () => {
        const { kubectl } = await namespaced(program, 'daily');
        await kubectl.ok('create', 'configmap', 'settings', '--from-literal=color=red');
        // Where controllers run, there is the certificate of the cluster too.
        const shown = await kubectl.ok('get', 'configmaps');
        assert.match(shown, /^NAME +DATA +AGE\n(kube-root-ca\.crt +1 +\d+s\n)?settings +1 +\d+s\n$/);
        assert.equal(await kubectl.ok('get', 'cm/settings', '-o', 'jsonpath={.data.color}'), 'red');
        await kubectl.ok('label', 'configmap', 'settings', 'tier=one');
        await kubectl.ok('annotate', 'configmap', 'settings', 'example.com/why=because');
        assert.match(
          await kubectl.ok('get', 'cm', '-l', 'tier=one', '-o', 'name'),
          /^configmap\/settings\n$/,
        );
        await kubectl.ok('patch', 'configmap', 'settings', '-p', '{"data":{"color":"blue"}}');
        await kubectl.ok(
          'patch',
          'configmap',
          'settings',
          '--type=json',
          '-p',
          '[{"op":"add","path":"/data/n","value":"1"}]',
        );
        const described = await kubectl.ok('describe', 'configmap', 'settings');
        assert.match(described, /Annotations: +example.com\/why: because/);
        assert.match(described, /color:\n----\nblue/);
        await kubectl.ok('delete', 'configmap', 'settings');
        const gone = await kubectl.try('get', 'configmap', 'settings');
        assert.match(gone.stderr, /Error from server \(NotFound\): configmaps "settings" not found/);
      });

      test('applies, applies again, changes what was applied and removes what is no longer there', async () => {
        const { kubectl } = await namespaced(program, 'apply');
        assert.match(await kubectl.withInput(deployment('example.com/a:1'), 'apply', '-f', '-'), /created/);
        assert.match(await kubectl.withInput(deployment('example.com/a:1'), 'apply', '-f', '-'), /unchanged/);
        assert.match(
          await kubectl.withInput(deployment('example.com/a:2'), 'apply', '-f', '-'),
          /configured/,
        );
        await kubectl.ok('scale', 'deployment', 'web', '--replicas=5');
        await kubectl.ok('set', 'image', 'deployment/web', 'web=example.com/a:3');
        const path = '{.spec.replicas} {.spec.template.spec.containers[0].image} {.metadata.generation}';
        assert.equal(
          await kubectl.ok('get', 'deploy', 'web', '-o', `jsonpath=${path}`),
          '5 example.com/a:3 4',
        );
        await kubectl.withInput(
          deployment('example.com/a:3').replace(/ +env:\n.*\n/, ''),
          'apply',
          '-f',
          '-',
        );
        assert.equal(
          await kubectl.ok('get', 'deploy', 'web', '-o', 'jsonpath={.spec.template.spec.containers[0].env}'),
          '',
        );
      });

      test('says why an object is not taken', async () => {
        const { kubectl } = await namespaced(program, 'bad');
        const unknown = await kubectl.try('create', 'job', 'X_y', '--image=a', '--dry-run=server');
        assert.notEqual(unknown.code, 0);
        const typo = deployment('example.com/a:1').replace('replicas:', 'replicsa:');
        const path = join(cluster.dir, 'typo.yaml');
        writeFileSync(path, typo);
        const refused = await kubectl.try('create', '-f', path);
        assert.notEqual(refused.code, 0);
        assert.match(refused.stderr, /unknown field "spec.replicsa"/);
        if (cluster.engine === 'real') return;
        const unserved = await kubectl.try('create', 'quota', 'q', '--hard=pods=1');
        assert.notEqual(unserved.code, 0);
      });

      test('explains kinds, ours and built-in ones', async () => {
        const { kubectl } = await namespaced(program, 'explain');
        assert.match(await kubectl.ok('explain', 'pod.spec.containers.image'), /Container image name/);
        assert.match(await kubectl.ok('explain', 'nodeupdate.spec'), /osImage/);
        assert.match(
          await kubectl.ok('api-resources', '-o', 'name'),
          /^clusterversions\.config\.openshift\.io$/m,
        );
      });

      test('the daily commands of the README', async () => {
        const { kubectl } = await namespaced(program, 'readme');
        const kinds = 'clusterversion,internalreleaseimage,machineconfignode,updatepreflight,nodeupdate';
        const objects = [
          {
            apiVersion: 'config.openshift.io/v1',
            kind: 'ClusterVersion',
            metadata: { name: 'version' },
            spec: { clusterID: 'c' },
          },
          {
            apiVersion: 'config.openshift.io/v1alpha1',
            kind: 'UpdatePreflight',
            metadata: { name: 'next', namespace: 'openshift-cluster-version' },
            spec: { image: `r/x@sha256:${'a'.repeat(64)}` },
          },
          releases('1.0.0'),
        ];
        for (const object of objects) {
          const { namespace = 'default' } = object.metadata as { namespace?: string };
          await kubectl.withInput(JSON.stringify(object), '--namespace', namespace, 'create', '-f', '-');
        }
        const shown = await kubectl.ok('get', kinds, '-A');
        for (const name of [
          'clusterversion.config.openshift.io/version',
          'internalreleaseimage.machineconfiguration.openshift.io/cluster',
          'updatepreflight.config.openshift.io/next',
        ]) {
          assert.ok(shown.includes(name), shown);
        }
        assert.match(await kubectl.ok('describe', 'clusterversion', 'version'), /Cluster ID: +c/);
        assert.match(await kubectl.ok('explain', 'updatepreflight.spec'), /acceptedRisks/);
        await unguarded(kubectl, async () =>
          kubectl.edit('s/1.0.0/1.1.0/', 'internalreleaseimage', 'cluster'),
        );
        const name = 'jsonpath={.spec.releases[*].name}';
        assert.equal(
          await kubectl.ok('get', 'internalreleaseimage', 'cluster', '-o', name),
          'ocp-release-bundle-1.1.0-x86_64',
        );
        const desired = '{"spec":{"desiredUpdate":{"version":"1.1.0"}}}';
        await kubectl.ok('patch', 'clusterversion', 'version', '--type=merge', '-p', desired);
        const wanted = '--for=jsonpath={.spec.desiredUpdate.version}=1.1.0';
        await kubectl.ok('wait', 'clusterversion/version', wanted, '--timeout=20s');
        await kubectl.ok('delete', 'internalreleaseimage', 'cluster');
        await kubectl.ok('delete', 'clusterversion', 'version');
        await kubectl.ok('delete', 'updatepreflight', 'next', '-n', 'openshift-cluster-version');
      });

      test('the preflight identity reads, and writes nothing, sees no Secret and goes into no Pod', async () => {
        const { kubectl } = await namespaced(program, 'reader');
        const as = ['--as', 'system:serviceaccount:openshift-update-preflight:preflight-reader'];
        const listed = await kubectl.ok('auth', 'can-i', '--list', ...as);
        assert.match(listed, /^pods +\[\] +\[\] +\[get list watch\]$/m);
        assert.match(listed, /^\*\.config\.openshift\.io +\[\] +\[\] +\[get list watch\]$/m);
        assert.doesNotMatch(listed, /secrets|pods\/(exec|attach|portforward|log)|\/proxy|\/token/);
        // What every identity may create is the question of what it may.
        const verbs = listed
          .split('\n')
          .filter((line) => !/^selfsubject\w+\.auth/.test(line))
          .flatMap((line) => /\[([a-z ]+)\]$/.exec(line)?.[1] ?? []);
        assert.deepEqual([...new Set(verbs)].sort(), ['get', 'get list watch']);
        const may = async (...question: string[]) =>
          (await kubectl.try('auth', 'can-i', ...question, '-A', ...as)).stdout.trim();
        assert.equal(await may('list', 'nodeupdates.sluice.dev'), 'yes');
        for (const question of [
          ['get', 'secrets'],
          ['create', 'pods', '--subresource=exec'],
          ['get', 'services', '--subresource=proxy'],
          ['delete', 'pods'],
          ['patch', 'nodes'],
        ]) {
          assert.equal(await may(...question), 'no', question.join(' '));
        }
      });

      test('a release in use cannot be removed, nor the object that holds it, and the message says why', async () => {
        const { kubectl } = await namespaced(program, 'guard');
        await kubectl.withInput(JSON.stringify(releases('1.0.0', '1.1.0')), 'apply', '-f', '-');
        await setInUse(kubectl, 'ocp-release-bundle-1.0.0-x86_64');
        const why = /in use, so it cannot be removed: ocp-release-bundle-1\.0\.0-x86_64\..*sluice-in-use/;
        const remove = (...more: string[]) =>
          kubectl.try('delete', 'internalreleaseimage', 'cluster', ...more);
        // A real API server hears of what is in use a moment later.
        await eventually(async () => why.test((await remove('--dry-run=server')).stderr), 'the guard');
        assert.match((await remove()).stderr, why);
        const wanted = JSON.stringify({ spec: releases('1.1.0').spec });
        const patch = ['internalreleaseimage', 'cluster', '--type=merge', '-p', wanted];
        assert.match((await kubectl.try('patch', ...patch)).stderr, why);
        await unguarded(
          kubectl,
          async () => void (await kubectl.ok('delete', 'internalreleaseimage', 'cluster')),
        );
      });
    },
  );
}

describe('kubectl, one version', needs('kubectl'), () => {
  test('every stored kind is created and shown', async () => {
    const { kubectl } = await namespaced('kubectl', 'kinds');
    await kubectl.ok('create', 'secret', 'generic', 's', '--from-literal=a=b');
    await kubectl.ok('create', 'serviceaccount', 'robot');
    await kubectl.ok('create', 'role', 'r', '--verb=get,list', '--resource=pods,jobs.batch');
    await kubectl.ok('create', 'rolebinding', 'rb', '--role=r', '--serviceaccount=default:robot');
    await kubectl.ok('create', 'job', 'j', '--image=example.com/x:1', '--', 'true');
    await kubectl.ok('create', 'cronjob', 'c', '--image=example.com/x:1', '--schedule=0 3 * * *');
    await kubectl.ok('create', 'deployment', 'd', '--image=example.com/x:1', '--port=80');
    await kubectl.ok('create', 'service', 'clusterip', 'svc', '--tcp=80:8080');
    await kubectl.ok('create', 'poddisruptionbudget', 'pdb', '--min-available=1', '--selector=app=d');
    await kubectl.ok('run', 'p', '--image=example.com/x:1', '--restart=Never', '--env=A=b');
    const shown = await kubectl.ok('get', 'secret,sa,role,rolebinding,job,cronjob,deploy,svc,pdb,pod');
    for (const name of ['secret/s', 'serviceaccount/robot', 'job.batch/j', 'deployment.apps/d', 'pod/p']) {
      assert.ok(shown.includes(name), shown);
    }
    assert.match(await kubectl.ok('get', 'secret', 's', '-o', 'jsonpath={.data.a}'), /^Yg==$/);
    assert.match(await kubectl.ok('describe', 'pod', 'p'), /Environment:\s+A: +b/);
    assert.match(await kubectl.ok('describe', 'job', 'j'), /Pods Statuses: +\d Active/);
    for (const each of [
      'deployment/d',
      'role/r',
      'service/svc',
      'pdb/pdb',
      'cronjob/c',
      'secret/s',
      'sa/robot',
    ]) {
      assert.match(await kubectl.ok('describe', each), /^Name: /);
    }
  });

  test('watches with -w', async () => {
    const { kubectl, namespace } = await namespaced('kubectl', 'watch');
    const env = { ...process.env, KUBECONFIG: cluster.kubeconfig, HOME: cluster.dir };
    const child = spawn('kubectl', ['-n', namespace, 'get', 'cm', '-w', '--output-watch-events'], { env });
    let output = '';
    const seen = (pattern: RegExp) =>
      new Promise<void>((resolve, reject) => {
        const timer = setTimeout(() => reject(new Error(`not seen: ${pattern} in ${output}`)), 15_000);
        const look = () => {
          if (!pattern.test(output)) return;
          clearTimeout(timer);
          resolve();
        };
        child.stdout.on('data', (chunk: Buffer) => {
          output += chunk.toString('utf8');
          look();
        });
        look();
      });
    await kubectl.ok('create', 'configmap', 'first');
    await seen(/ADDED +first +0/);
    await kubectl.ok('patch', 'configmap', 'first', '-p', '{"data":{"a":"b"}}');
    await seen(/MODIFIED +first +1/);
    await kubectl.ok('delete', 'configmap', 'first');
    await seen(/DELETED +first/);
    child.kill();
  });

  test('waits for a condition and for a deletion', async () => {
    const { kubectl } = await namespaced('kubectl', 'wait');
    await kubectl.ok('run', 'p', '--image=example.com/x:1');
    const waiting = kubectl.ok('wait', 'pod/p', '--for=condition=Ready', '--timeout=20s');
    const status = '{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}';
    await kubectl.ok('patch', 'pod', 'p', '--subresource=status', '--type=merge', '-p', status);
    assert.match(await waiting, /condition met/);
    const deleted = kubectl.ok('wait', 'pod/p', '--for=delete', '--timeout=20s');
    await kubectl.ok('delete', 'pod', 'p');
    await deleted;
  });

  test('edits with an editor', async () => {
    const { kubectl } = await namespaced('kubectl', 'edit');
    await kubectl.ok('create', 'configmap', 'c', '--from-literal=a=old');
    await kubectl.edit('s/old/new/', 'configmap', 'c');
    assert.equal(await kubectl.ok('get', 'cm', 'c', '-o', 'jsonpath={.data.a}'), 'new');
  });

  test('cordons, drains and uncordons a node, and keeps to a budget', async () => {
    const { kubectl, namespace } = await namespaced('kubectl', 'drain');
    const { client } = cluster;
    const node = `node-${namespace}`;
    await client.create(client.kinds.Node, { metadata: { name: node } });
    const spec = { nodeName: node, containers: [{ name: 'c', image: 'example.com/x:1' }] };
    for (const name of ['free', 'guarded']) {
      await client.create(client.kinds.Pod, { metadata: { name, namespace, labels: { app: name } }, spec });
      await client.patch(
        client.kinds.Pod,
        name,
        { status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] } },
        { namespace, subresource: 'status' },
      );
    }
    await kubectl.ok('create', 'poddisruptionbudget', 'pdb', '--min-available=1', '--selector=app=guarded');
    const counted = { observedGeneration: 1, desiredHealthy: 1, currentHealthy: 1, disruptionsAllowed: 0 };
    await client.patch(
      client.kinds.PodDisruptionBudget,
      'pdb',
      { status: counted },
      { namespace, subresource: 'status' },
    );
    await kubectl.ok('cordon', node);
    assert.match(await kubectl.ok('get', 'node', node), /SchedulingDisabled/);
    const blocked = await kubectl.try('drain', node, '--force', '--timeout=3s', '--grace-period=0');
    assert.notEqual(blocked.code, 0);
    assert.match(blocked.stderr, /Cannot evict pod as it would violate the pod's disruption budget/);
    assert.match((await kubectl.try('get', 'pod', 'free')).stderr, /NotFound/);
    await kubectl.ok('delete', 'poddisruptionbudget', 'pdb');
    await kubectl.ok('drain', node, '--force', '--timeout=20s', '--grace-period=0');
    assert.match((await kubectl.try('get', 'pod', 'guarded')).stderr, /NotFound/);
    await kubectl.ok('uncordon', node);
  });

  test('asks what one may, and makes tokens', async () => {
    const { kubectl, namespace } = await namespaced('kubectl', 'rights');
    const reader = `system:serviceaccount:${namespace}:reader`;
    await kubectl.ok('create', 'serviceaccount', 'reader');
    await kubectl.ok('create', 'role', 'read', '--verb=get,list', '--resource=pods');
    await kubectl.ok('create', 'rolebinding', 'read', '--role=read', `--serviceaccount=${namespace}:reader`);
    const listing = async () =>
      (await kubectl.try('auth', 'can-i', 'list', 'pods', '--as', reader)).stdout.trim() === 'yes';
    await eventually(listing, 'the new rights');
    const no = await kubectl.try('auth', 'can-i', 'delete', 'pods', '--as', reader);
    assert.equal(no.stdout.trim(), 'no');
    assert.match(
      await kubectl.ok('auth', 'can-i', '--list', '--as', reader),
      /pods +\[\] +\[\] +\[get list\]/,
    );
    const token = (await kubectl.ok('create', 'token', 'reader', '--duration=1h')).trim();
    const client = cluster.clientWithToken(token);
    assert.ok(await client.list(client.kinds.Pod, { namespace }));
    await assert.rejects(client.list(client.kinds.Secret, { namespace }), /cannot list resource "secrets"/);
    assert.match(await kubectl.ok('auth', 'whoami'), /admin/);
  });

  test('refuses server-side apply in words', async (t) => {
    if (cluster.engine === 'real') return t.skip('a real API server has it');
    const { kubectl } = await namespaced('kubectl', 'ssa');
    const path = join(cluster.dir, 'ssa.yaml');
    writeFileSync(path, deployment('example.com/a:1'));
    const refused = await kubectl.try('apply', '--server-side', '-f', path);
    assert.match(refused.stderr, /use kubectl apply without --server-side/);
  });

  test('shows our kinds with their columns', async () => {
    const { kubectl } = await namespaced('kubectl', 'ours');
    await kubectl.withInput(
      '{"apiVersion":"sluice.dev/v1","kind":"NodeUpdate","metadata":{"name":"shown"},"spec":{}}',
      'apply',
      '-f',
      '-',
    );
    assert.match(await kubectl.ok('get', 'nodeupdates'), /^NAME +.+\nshown /);
    assert.match(await kubectl.ok('describe', 'nodeupdate', 'shown'), /Name: +shown/);
    await kubectl.ok('delete', 'nodeupdate', 'shown');
  });
});
