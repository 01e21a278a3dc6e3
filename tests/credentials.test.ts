import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { compareSync } from 'bcryptjs';
import { names } from '../src/api/names.ts';
import { createPasswordFile } from '../src/node/passwords.ts';
import {
  fingerprintOf,
  keepCredentials,
  linesOf,
  nextStep,
  type RegistryCredentials,
  readCredentials,
  rotateCredentials,
} from '../src/release/credentials.ts';
import { startTestCluster, type TestCluster } from './cluster.ts';

let cluster: TestCluster;
const { machineConfigNamespace: namespace, registrySecret } = names('standalone');

before(async () => {
  cluster = await startTestCluster();
  await cluster.client.create(cluster.client.kinds.Namespace, { metadata: { name: namespace } });
});

after(() => cluster.close());

test('the steps, by what the nodes accept', () => {
  const settled: RegistryCredentials = { htpasswd: 'a\n', password: 'one', next: undefined };
  const begun: RegistryCredentials = { htpasswd: 'a\nb\n', password: 'one', next: 'two' };
  const promoted: RegistryCredentials = { ...begun, password: 'two' };
  const nodes = (...accepted: (RegistryCredentials | undefined)[]) =>
    new Map(
      accepted.map((each, index) => [`n${index}`, each === undefined ? undefined : fingerprintOf(each)]),
    );
  assert.equal(nextStep(undefined, nodes(undefined, undefined)), 'Create');
  assert.equal(nextStep(undefined, nodes(settled, undefined)), 'CreateBeside', 'it was deleted');
  assert.equal(nextStep(settled, nodes(undefined)), 'None');
  assert.equal(nextStep(begun, nodes(begun, settled)), 'None', 'one node does not accept it yet');
  assert.equal(nextStep(begun, nodes(begun, undefined)), 'None');
  assert.equal(nextStep(begun, nodes(begun, begun)), 'Promote');
  assert.equal(nextStep(promoted, nodes(begun, promoted)), 'None');
  assert.equal(nextStep(promoted, nodes(promoted, promoted)), 'Finish');
});

/** Three registries and a client: whatever happens, what the client uses is accepted by all of them. */
async function world(t: { after(act: () => Promise<void>): void }) {
  const dir = await mkdtemp(join(tmpdir(), 'credentials-'));
  t.after(() => rm(dir, { recursive: true, force: true }));
  let now = Date.now();
  const clock = { now: () => now, monotonic: () => now, sleep: async () => {} };
  const nodes = ['a', 'b', 'c'].map((name) => ({
    name,
    run: join(dir, name),
    file: createPasswordFile({ runDir: join(dir, name), stateDir: join(dir, `${name}-state`), clock }),
  }));
  let used: string | undefined;
  const client = async () => {
    used = (await readCredentials(cluster.client))?.password ?? used;
    return used;
  };
  return {
    client,
    pass: (ms: number) => {
      now += ms;
    },
    read: async (...which: string[]) => {
      for (const node of nodes) {
        if (which.includes(node.name)) await node.file.apply(await readCredentials(cluster.client));
      }
    },
    step: async () =>
      await keepCredentials(
        cluster.client,
        new Map(nodes.map((node) => [node.name, node.file.fingerprint()])),
      ),
    refusing: async (password: string | undefined) => {
      const refused: string[] = [];
      for (const node of nodes) {
        const lines = linesOf(await readFile(join(node.run, 'htpasswd'), 'utf8'));
        const accepted = lines.some((line) => compareSync(password ?? '', line.slice(line.indexOf(':') + 1)));
        if (!accepted) refused.push(node.name);
      }
      return refused;
    },
  };
}

test('a rotation: at no time is what clients use refused, and at its end the old password is', async (t) => {
  const all = await world(t);
  assert.equal(await all.step(), 'Create');
  await all.read('a', 'b', 'c');
  const first = await all.client();
  assert.equal(await rotateCredentials(cluster.client), true);
  assert.equal(await rotateCredentials(cluster.client), false, 'one at a time');
  await all.read('a', 'c');
  assert.equal(await all.step(), 'None', 'b does not accept it yet');
  assert.equal(await all.client(), first);
  await all.read('b');
  assert.equal(await all.step(), 'Promote');
  const second = await all.client();
  assert.notEqual(second, first);
  assert.deepEqual(await all.refusing(second), []);
  assert.deepEqual(await all.refusing(first), []);
  await all.read('a', 'b', 'c');
  assert.equal(await all.step(), 'Finish');
  await all.read('a', 'b', 'c');
  assert.equal(await all.step(), 'None');
  assert.deepEqual(await all.refusing(first), [], 'clients that are slow still get in');
  all.pass(11 * 60_000);
  await all.read('a', 'b', 'c');
  assert.deepEqual(await all.refusing(first), ['a', 'b', 'c']);
  assert.deepEqual(await all.refusing(second), []);
});

test('somebody deletes the Secret, or writes one of their own: what clients use is accepted all the time', async (t) => {
  const all = await world(t);
  await all.step();
  await all.read('a', 'b', 'c');
  const first = await all.client();
  await cluster.client.delete(cluster.client.kinds.Secret, registrySecret, { namespace });
  await all.read('a', 'b', 'c');
  assert.deepEqual(await all.refusing(first), []);
  assert.equal(await all.step(), 'CreateBeside');
  assert.equal(await all.client(), first, 'nobody is told of the new one before all accept it');
  await all.read('a');
  assert.equal(await all.step(), 'None');
  assert.deepEqual(await all.refusing(await all.client()), []);
  await all.read('b', 'c');
  assert.equal(await all.step(), 'Promote');
  assert.deepEqual(await all.refusing(await all.client()), []);
  await all.read('a', 'b', 'c');
  assert.equal(await all.step(), 'Finish');
  await all.read('a', 'b', 'c');
  assert.deepEqual(await all.refusing(await all.client()), []);
  assert.deepEqual(await all.refusing(first), [], 'who still has the old one is let in for a while');
});
