import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { silentLogger } from '../observe/log.ts';
import { containerdHostsMark } from '../release/containerd-hosts.ts';
import { writeContainerdHosts } from './containerd.ts';

test('files are written and taken away as the mirror sets say, and what is not ours stays', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'sluice-hosts-'));
  t.after(() => rmSync(directory, { recursive: true }));
  const file = (host: string) => join(directory, host, 'hosts.toml');
  mkdirSync(join(directory, 'foreign.example'));
  writeFileSync(file('foreign.example'), 'server = "https://elsewhere"\n');
  writeFileSync(join(directory, 'a-file'), '');
  const ours = `${containerdHostsMark}\nserver = "https://a"\n`;
  await writeContainerdHosts(
    directory,
    new Map([
      ['a.example', ours],
      ['b.example:5000', ours],
      ['foreign.example', ours],
    ]),
    silentLogger,
  );
  assert.equal(readFileSync(file('a.example'), 'utf8'), ours);
  assert.equal(readFileSync(file('b.example:5000'), 'utf8'), ours);
  await writeContainerdHosts(directory, new Map([['a.example', ours]]), silentLogger);
  assert.ok(!existsSync(file('b.example:5000')));
  assert.equal(readFileSync(file('a.example'), 'utf8'), ours);
  assert.equal(readFileSync(file('foreign.example'), 'utf8'), 'server = "https://elsewhere"\n');
});
