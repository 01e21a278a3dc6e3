import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readdirSync, realpathSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type RunResult, run } from '../src/process/run.ts';
import { startTestCluster, type TestCluster } from './cluster.ts';
import { needs } from './tier.ts';

/** Older ones ask for OpenAPI v2, which the embedded API does not serve. */
const minorMin = 29;

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
});
after(() => cluster.close());

interface Shell {
  /** Runs kubectl and fails where it fails. */
  ok(...args: string[]): Promise<string>;
  /** Runs kubectl, whatever comes. */
  try(...args: string[]): Promise<RunResult>;
  withInput(input: string, ...args: string[]): Promise<string>;
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
  };
}

async function namespaced(program: string, prefix: string): Promise<{ kubectl: Shell; namespace: string }> {
  const namespace = `${prefix}-${Math.random().toString(36).slice(2, 8)}`;
  await cluster.client.create(cluster.client.kinds.Namespace, { metadata: { name: namespace } });
  return { kubectl: shell(program, namespace), namespace };
}

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

for (const program of programs()) {
  describe(
    program === 'kubectl' ? 'kubectl' : `kubectl ${/1\.\d+$/.exec(program)?.[0]}`,
    needs('kubectl'),
    () => {
      test('creates, shows, changes and deletes', async () => {
        const { kubectl } = await namespaced(program, 'daily');
        await kubectl.ok('create', 'configmap', 'settings', '--from-literal=color=red');
        assert.match(await kubectl.ok('get', 'configmaps'), /^NAME +DATA +AGE\nsettings +1 +\d+s\n$/);
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
        const unknown = await kubectl.try('create', 'deployment', 'x', '--image=', '--dry-run=server');
        assert.notEqual(unknown.code, 0);
        const typo = deployment('example.com/a:1').replace('replicas:', 'replicsa:');
        const path = join(cluster.dir, 'typo.yaml');
        writeFileSync(path, typo);
        const refused = await kubectl.try('create', '-f', path);
        assert.notEqual(refused.code, 0);
        assert.match(refused.stderr, /unknown field "spec.replicsa"/);
        const wrong = await kubectl.try('create', 'quota', 'q', '--hard=pods=1');
        assert.notEqual(wrong.code, 0);
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
    assert.match(await kubectl.ok('describe', 'job', 'j'), /Pods Statuses: +0 Active/);
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
    const { kubectl, namespace } = await namespaced('kubectl', 'edit');
    await kubectl.ok('create', 'configmap', 'c', '--from-literal=a=old');
    const env = {
      ...process.env,
      KUBECONFIG: cluster.kubeconfig,
      HOME: cluster.dir,
      KUBE_EDITOR: 'sed -i s/old/new/',
    };
    const result = await run('kubectl', ['-n', namespace, 'edit', 'configmap', 'c'], { env });
    assert.equal(result.code, 0, result.stderr);
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
    assert.equal((await kubectl.ok('auth', 'can-i', 'list', 'pods', '--as', reader)).trim(), 'yes');
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

  test('refuses server-side apply in words', async () => {
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
