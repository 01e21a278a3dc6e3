import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { addNote, readNote } from './elf-note.ts';

test('a program with a note runs as before, and the note is in its memory where the table of segments says', (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'sluice-elf-'));
  t.after(() => rmSync(directory, { recursive: true }));
  // A program that is loaded anywhere, and one that is loaded at its own address.
  for (const source of ['/bin/cat', process.execPath]) {
    const words =
      source === '/bin/cat' ? ['/proc/self/maps'] : ['-p', 'fs.readFileSync("/proc/self/maps", "utf8")'];
    const content = Buffer.from('x'.repeat(100_001));
    const made = addNote(readFileSync(source), 'SLUICE_TEST', content);
    const path = join(directory, 'program');
    rmSync(path, { force: true });
    writeFileSync(path, made);
    chmodSync(path, 0o755);
    const { status, stdout } = spawnSync(path, words, { encoding: 'utf8' });
    assert.equal(status, 0, source);
    assert.ok(readNote(made, 'SLUICE_TEST')?.equals(content));
    const mapped = stdout.split('\n').filter((line) => line.endsWith(path) && line.includes('r--p'));
    const last = made.length - (made.length % 0x1000);
    const covers = (line: string) => {
      const [, start = '', end = '', offset = ''] = /^(\w+)-(\w+) r--p (\w+)/.exec(line) ?? [];
      const from = Number.parseInt(offset, 16);
      return from <= last && last < from + Number.parseInt(end, 16) - Number.parseInt(start, 16);
    };
    assert.ok(mapped.some(covers), stdout);
  }
});

test('what is no program, or has the note already, is refused', () => {
  assert.throws(() => addNote(Buffer.alloc(100), 'A', Buffer.alloc(1)), /no ELF-64/);
  const once = addNote(readFileSync('/bin/cat'), 'SLUICE_TEST', Buffer.from('1'));
  assert.throws(() => addNote(once, 'SLUICE_TEST', Buffer.from('2')), /already/);
  assert.equal(readNote(once, 'OTHER'), undefined);
});
