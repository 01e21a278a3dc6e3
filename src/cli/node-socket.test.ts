import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { findNodeSocket, upDirectoryOf } from './node-socket.ts';

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
