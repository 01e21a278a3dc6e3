import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, statSync } from 'node:fs';
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { isSluiceError, SluiceError } from '../errors/error.ts';
import { silentLogger } from '../observe/log.ts';
import { askNode, type NodeSocket, nodeSocketPath, serveNodeSocket } from './socket.ts';

let dir: string;
let socket: NodeSocket;

before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'sluice-socket-'));
  await writeFile(nodeSocketPath(dir), ''); // As a killed process leaves it.
  socket = await serveNodeSocket(
    nodeSocketPath(dir),
    {
      'GET /v1/hello': async () => ({ hello: 'node' }),
      'POST /v1/echo': async (body) => ({ body }),
      'DELETE /v1/echo': async (body) => ({ body }),
      'POST /v1/refuse': async () => {
        throw new SluiceError('SignatureMissing', 'nobody signed it', { next: 'Sign it.' });
      },
      'POST /v1/break': async () => {
        throw new TypeError('a defect');
      },
    },
    silentLogger,
  );
});

after(async () => {
  await socket.close();
  await rm(dir, { recursive: true, force: true });
});

const code = (wanted: string) => (error: unknown) => isSluiceError(error) && error.code === wanted;

test('only its owner may open the socket', async () => {
  assert.equal((await stat(socket.path)).mode & 0o777, 0o600);
});

test('what others make while the socket is opened has the rights that they give it', async () => {
  const place = join(dir, 'other');
  let done = false;
  const opening = serveNodeSocket(nodeSocketPath(place), {}, silentLogger).finally(() => {
    done = true;
  });
  for (let at = 0; !done; at += 1) {
    const made = join(dir, `made-${at}`);
    mkdirSync(made, { mode: 0o755 });
    assert.equal(statSync(made).mode & 0o777, 0o755 & ~process.umask());
    assert.notEqual(process.umask(), 0o177);
    await new Promise((resolve) => setImmediate(resolve));
  }
  const opened = await opening;
  assert.deepEqual(readdirSync(place), ['node.sock']);
  await opened.close();
  assert.deepEqual(readdirSync(place), []);
});

test('answers and errors travel whole, with what to do next', async () => {
  assert.deepEqual(await askNode(socket.path, 'GET /v1/hello'), { hello: 'node' });
  for (const method of ['POST', 'DELETE']) {
    const answer = await askNode(socket.path, `${method} /v1/echo`, { path: '/ä b' });
    assert.deepEqual(answer, { body: { path: '/ä b' } }, method);
  }
  await assert.rejects(askNode(socket.path, 'POST /v1/refuse'), (error: unknown) => {
    assert.ok(error instanceof SluiceError);
    assert.deepEqual(
      [error.code, error.message, error.next],
      ['SignatureMissing', 'nobody signed it', 'Sign it.'],
    );
    return true;
  });
  await assert.rejects(askNode(socket.path, 'POST /v1/break'), code('Internal'));
  await assert.rejects(askNode(socket.path, 'GET /v1/nothing'), code('NotFound'));
});

test('a second process does not take the socket away', async () => {
  await assert.rejects(serveNodeSocket(socket.path, {}, silentLogger), code('Conflict'));
  assert.deepEqual(await askNode(socket.path, 'GET /v1/hello'), { hello: 'node' });
});

test('where no node listens, the message says what to do', async () => {
  await assert.rejects(askNode(join(dir, 'none.sock'), 'GET /v1/hello'), (error: unknown) => {
    assert.ok(isSluiceError(error, 'Unreachable'));
    // The one option that every command has which asks a node's socket.
    assert.match(error.next, /--socket FILE/);
    assert.doesNotMatch(error.next, /--node/);
    return true;
  });
});

test('a path that no socket can have is refused in words', async () => {
  await assert.rejects(
    serveNodeSocket(join(dir, 'x'.repeat(100), 'node.sock'), {}, silentLogger),
    code('InputInvalid'),
  );
});
