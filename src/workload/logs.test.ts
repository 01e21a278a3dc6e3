import assert from 'node:assert/strict';
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { LogWriter } from './log-writer.ts';
import { type LogOptions, logTail, readLog } from './logs.ts';

const dir = mkdtempSync(join(tmpdir(), 'sluice-logs-'));
process.on('exit', () => rmSync(dir, { recursive: true, force: true }));
let files = 0;
const fresh = () => {
  files += 1;
  return join(dir, `${files}.log`);
};
const never = new AbortController().signal;

async function read(path: string, options: LogOptions = {}, isRunning = () => false): Promise<string> {
  let text = '';
  for await (const piece of readLog(path, options, isRunning, never)) text += piece;
  return text;
}

test('what is written comes back, in whatever pieces it came', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.stringMatching(/^[a-zé\n]{0,40}$/), { maxLength: 20 }), async (chunks) => {
      const path = fresh();
      const writer = new LogWriter(path, 1_000_000);
      for (const chunk of chunks) writer.write('stdout', Buffer.from(chunk));
      writer.close();
      assert.equal(await read(path), chunks.join(''));
    }),
    { numRuns: 50 },
  );
});

test('a long line is cut into pieces that are joined again', async () => {
  const path = fresh();
  const writer = new LogWriter(path, 1_000_000);
  const long = 'x'.repeat(50_000);
  writer.write('stdout', Buffer.from(`${long}\nend\n`));
  writer.close();
  assert.match(readFileSync(path, 'utf8'), /stdout P x/);
  assert.equal(await read(path), `${long}\nend\n`);
  assert.equal(await read(path, { tailLines: 1 }), 'end\n');
});

test('past its limit the log begins anew, and the part before is still read', async () => {
  const path = fresh();
  const writer = new LogWriter(path, 1_000);
  for (let line = 0; line < 100; line += 1) writer.write('stdout', Buffer.from(`line ${line}\n`));
  writer.close();
  assert.ok(readFileSync(path).length <= 1_000);
  const text = await read(path);
  assert.ok(text.endsWith('line 98\nline 99\n'));
  assert.ok(text.split('\n').length > 25);
});

test('tail, since, timestamps and a limit of bytes', async () => {
  const path = fresh();
  const lines = [1, 2, 3, 4].map(
    (n) => `2026-01-01T00:00:0${n}.5Z ${n % 2 ? 'stdout' : 'stderr'} F line ${n}\n`,
  );
  writeFileSync(path, `${lines.join('')}garbage\n2026-01-01T00:00:05Z stdout P no end\n`);
  assert.equal(await read(path), 'line 1\nline 2\nline 3\nline 4\nno end');
  assert.equal(await read(path, { tailLines: 2 }), 'line 4\nno end');
  assert.equal(await read(path, { tailLines: 0 }), '');
  assert.equal(await read(path, { since: Date.parse('2026-01-01T00:00:04Z') }), 'line 4\nno end');
  assert.equal(await read(path, { timestamps: true, tailLines: 1 }), '2026-01-01T00:00:05Z no end');
  assert.equal(await read(path, { limitBytes: 9 }), 'line 1\nli');
  assert.equal(await logTail(path, 2, 8), '4\nno end');
  assert.equal(await read(join(dir, 'nowhere')), '');
});

test('following ends after the container, with its last words', async () => {
  const path = fresh();
  writeFileSync(path, '2026-01-01T00:00:01Z stdout F one\n');
  let alive = true;
  setTimeout(() => appendFileSync(path, '2026-01-01T00:00:02Z stdout F two\n'), 150);
  setTimeout(() => {
    appendFileSync(path, '2026-01-01T00:00:03Z stdout F three\n');
    alive = false;
  }, 300);
  assert.equal(await read(path, { follow: true }, () => alive), 'one\ntwo\nthree\n');
});
