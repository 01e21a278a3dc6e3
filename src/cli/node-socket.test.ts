import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { isSluiceError, type SluiceError } from '../errors/error.ts';
import { upLayout } from '../up/layout.ts';
import { startTicksOf, type UpState, writeState } from '../up/state.ts';
import { askUpNode, findNodeSocket, upDirectoryOf } from './node-socket.ts';

test('a socket below a directory of sluice up is told from that of a host', (t) => {
  const root = mkdtempSync(join(tmpdir(), 'sluice-sockets-'));
  t.after(() => rmSync(root, { recursive: true }));
  const up = join(root, 'up');
  const run = join(up, 'nodes', 'master-0', 'run');
  mkdirSync(run, { recursive: true });
  writeFileSync(join(run, 'node.sock'), '');
  const socket = findNodeSocket({ dir: up }, {});
  assert.equal(upDirectoryOf(socket), undefined, 'no state of a sluice up');
  writeFileSync(join(up, 'state.json'), '{}');
  assert.equal(upDirectoryOf(socket), up);
  // A directory that has a state of its own further up.
  writeFileSync(join(root, 'state.json'), '{}');
  mkdirSync(join(root, 'a', 'b', 'run'), { recursive: true });
  writeFileSync(join(root, 'a', 'b', 'run', 'node.sock'), '');
  assert.equal(upDirectoryOf(join(root, 'a', 'b', 'run', 'node.sock')), undefined);
  assert.equal(upDirectoryOf('/run/sluice/node.sock'), undefined);
});

test('a node of sluice up that does not listen is said to start, or not to run', async (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-sockets-'));
  t.after(() => rmSync(dir, { recursive: true }));
  for (const name of ['master-0', 'master-1', 'master-2']) {
    mkdirSync(join(dir, 'nodes', name, 'run'), { recursive: true });
  }
  // As a killed agent leaves it: nobody listens there.
  writeFileSync(join(dir, 'nodes', 'master-1', 'run', 'node.sock'), '');
  const ask = async (node: string): Promise<SluiceError> => {
    const error = await askUpNode(findNodeSocket({ dir, node }, {}), 'GET /v1/hello').catch((each) => each);
    assert.ok(isSluiceError(error));
    return error;
  };
  const layout = upLayout(dir);
  const state = {
    pid: process.pid,
    startTicks: await startTicksOf(process.pid),
    nodes: [{ name: 'master-0' }, { name: 'master-1' }],
  } as unknown as UpState;
  await writeState(layout, state);
  for (const node of ['master-0', 'master-1']) {
    const starting = await ask(node);
    assert.equal(starting.code, 'Unreachable');
    assert.equal(starting.message, `node ${node} of ${dir} is starting: it does not listen yet`);
    assert.match(starting.next, /^Run this again in a few seconds; .*logs\/master-\d\.log$/);
  }
  assert.match((await ask('master-2')).message, /runs without master-2 \(it has: master-0, master-1\)/);
  assert.throws(() => findNodeSocket({ dir, node: 'master-9' }, {}), /no node master-9 runs on this machine/);
  await writeState(layout, { ...state, startTicks: 1 });
  const stopped = await ask('master-0');
  assert.equal(stopped.code, 'NotFound');
  assert.equal(stopped.next, `Start it: sluice up --dir ${dir}`);
});
