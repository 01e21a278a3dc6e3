import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { startTestCluster } from '../../tests/cluster.ts';
import { repository } from '../../tests/tier.ts';
import { linkRoute } from '../console/link.ts';
import { serveNodeSocket } from '../node/socket.ts';
import { silentLogger } from '../observe/log.ts';
import { run } from '../process/run.ts';
import { shellWord } from '../process/shell.ts';

test('a new link is given alone, or as data beside the address of the console', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'sluice-console-'));
  t.after(() => rm(directory, { recursive: true }));
  const socket = join(directory, 'console.sock');
  const made = { url: 'http://127.0.0.1:1/', link: 'http://127.0.0.1:1/#code=abc' };
  const server = await serveNodeSocket(socket, { [linkRoute]: async () => made }, silentLogger);
  t.after(() => server.close());
  const ask = async (...words: string[]) =>
    (await run(join(repository, 'sluice'), ['console', 'link', '--socket', socket, ...words])).stdout;
  assert.equal(await ask(), `${made.link}\n`);
  assert.deepEqual(JSON.parse(await ask('-o', 'json')), made);
});

/** What a console says until its link is there; it ends with the test at the latest. */
async function firstWords(t: TestContext, program: string, ...words: string[]): Promise<string> {
  const child = spawn(program, words, { stdio: ['pipe', 'pipe', 'pipe'] });
  t.after(() => child.kill('SIGTERM'));
  return await new Promise((resolve, reject) => {
    let said = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk: Buffer) => {
        said += chunk.toString().replaceAll('\r', '');
        if (/#code=\S+\n/.test(said) && /answers/.test(said)) resolve(said);
      });
    }
    child.once('error', reject);
    child.once('exit', () => reject(new Error(said)));
  });
}

test('that it answers is told once: to a person in words, to a log as a line of its own', async (t) => {
  const cluster = await startTestCluster();
  t.after(() => cluster.close());
  writeFileSync(join(cluster.dir, 'index.html'), '<base href="/" />');
  const program = join(repository, 'sluice');
  const words = ['console', '--kubeconfig', cluster.kubeconfig, '--files', cluster.dir];

  const piped = await firstWords(t, program, ...words);
  const [log = ''] = piped.split('\n').filter((line) => line.startsWith('{'));
  const { url, msg } = JSON.parse(log) as Record<string, unknown>;
  assert.equal(msg, 'the console answers');
  assert.deepEqual(
    piped
      .trim()
      .split('\n')
      .filter((line) => line !== log)
      .map((line) => line.replace(/code=.*/, 'code=')),
    [`${url}#code=`],
  );

  const line = [program, ...words].map(shellWord).join(' ');
  const typed = await firstWords(t, 'script', '-qefc', line, '/dev/null');
  assert.match(
    typed,
    /^the console answers at (http:\S+) until Ctrl-C; this link logs in, once:\n\1#code=\S+\n$/,
  );
});
