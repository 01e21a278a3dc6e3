import assert from 'node:assert/strict';
import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { test } from 'node:test';
import { sharedSources } from '../src/console/build.ts';
import { errorTable } from '../src/errors/error.ts';
import { repository } from './tier.ts';

/** The rooms from the top down; an import may only go down (docs/architecture.md shows the same list). */
const rooms = readFileSync(join(repository, 'docs', 'architecture.md'), 'utf8')
  .split('\n')
  .flatMap((line) => /^\| `src\/([a-z]+)\/` \|/.exec(line)?.[1] ?? []);

const sources = globSync('src/**/*.ts', { cwd: repository });

/** The web console. */
const pages = globSync('web/**/*.{ts,tsx}', { cwd: repository, exclude: (path) => path.endsWith('dist') });

test('every folder below src is a room of the architecture page, and the other way round', () => {
  const folders = readdirSync(join(repository, 'src'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name);
  assert.deepEqual(folders.sort(), [...rooms].sort());
});

test('every room says what it is for and what it may import', () => {
  for (const room of rooms) {
    const path = join(repository, 'src', room, 'README.md');
    assert.ok(existsSync(path), `src/${room} has no README.md`);
    assert.match(
      readFileSync(path, 'utf8'),
      /May import:/i,
      `src/${room}/README.md does not say what it may import`,
    );
  }
});

test('every file that a room names to be read is there', () => {
  let checked = 0;
  for (const room of rooms) {
    const path = join(repository, 'src', room);
    for (const [, name = ''] of readFileSync(join(path, 'README.md'), 'utf8').matchAll(/`([\w./-]+\.ts)`/g)) {
      const from = name.startsWith('tests/') ? repository : path;
      assert.ok(existsSync(join(from, name)), `src/${room}/README.md names ${name}, which is not there`);
      checked += 1;
    }
  }
  assert.ok(checked > 200, `only ${checked} names were looked at`);
});

/** The rooms that a room lists as those it may import; undefined where it says so in other words, as "and below". */
function listedImports(room: string): ReadonlySet<string> | undefined {
  const text = readFileSync(join(repository, 'src', room, 'README.md'), 'utf8').split('May import:')[1] ?? '';
  return /\b(?:above|below|down|floor)\b/.test(text) ? undefined : new Set(text.match(/[a-z]+/g));
}

test('imports go only down, and where a room lists those that it may import, only there', () => {
  const lists = new Map(rooms.map((room) => [room, listedImports(room)]));
  let checked = 0;
  for (const file of sources) {
    if (file.endsWith('.test.ts')) continue;
    const room = file.split('/')[1] ?? '';
    for (const target of importsOf(join(repository, file))) {
      if (!target.startsWith('.')) continue;
      const path = relative(repository, resolve(dirname(join(repository, file)), target));
      const other = path.split('/')[1] ?? '';
      assert.ok(path.startsWith('src/'), `${file} imports ${path}, which is outside src`);
      assert.ok(
        rooms.indexOf(other) >= rooms.indexOf(room),
        `${file} imports ${path}: ${other}/ lies above ${room}/`,
      );
      const list = lists.get(room);
      assert.ok(
        room === other || list === undefined || list.has(other),
        `${file} imports ${path}: src/${room}/README.md does not list ${other}`,
      );
      checked += 1;
    }
  }
  assert.ok(checked > 100, `only ${checked} imports were looked at`);
});

test('the HTTP module of the runtime is loaded in one place, without what its import brings along', () => {
  for (const file of sources) {
    if (file.endsWith('.test.ts')) continue;
    const text = readFileSync(join(repository, file), 'utf8');
    for (const [line, what = ''] of text.matchAll(/^import (.*) from '(?:node:)?http';$/gm))
      assert.ok(what.startsWith('type '), `${file}: ${line} (use src/http/runtime.ts)`);
  }
});

test('only src/program goes by where its source lies: a single file does not know', () => {
  for (const file of sources) {
    if (/\.test\.ts$|(^|\/)generate\.ts$|^src\/program\//.test(file)) continue;
    const text = readFileSync(join(repository, file), 'utf8');
    assert.doesNotMatch(text, /import\.meta|__dirname|^await /m, `${file} (use src/program/files.ts)`);
  }
});

test('no file is called utils, helpers, common or types', () => {
  for (const file of sources) assert.doesNotMatch(file, /\/(utils?|helpers?|common|types)\.ts$/, file);
});

/** Generated, and a list of words. */
const longFiles = new Set(['src/api/resources.ts', 'web/words/english.ts']);

test('files can be held in mind', () => {
  for (const file of [...sources, ...pages]) {
    if (file.endsWith('.test.ts') || longFiles.has(file)) continue;
    const lines = readFileSync(join(repository, file), 'utf8').split('\n').length;
    assert.ok(lines <= 500, `${file} has ${lines} lines`);
  }
});

test('the console imports itself, its few packages, and from src only data and pure functions', () => {
  const packages =
    /^(?:react|react-dom\/client|@patternfly\/react-(?:core|table)\/dist\/dynamic\/|@patternfly\/react-icons\/dist\/esm\/icons\/|@patternfly\/react-core\/dist\/styles\/)/;
  let checked = 0;
  for (const file of pages) {
    if (file.endsWith('.test.ts') || file === 'web/vite.config.ts') continue;
    for (const target of importsOf(join(repository, file))) {
      checked += 1;
      if (!target.startsWith('.')) {
        assert.match(target, packages, `${file} imports ${target}`);
        continue;
      }
      const path = relative(repository, resolve(dirname(join(repository, file)), target));
      const shared = sharedSources.some((each) => path === each || path.startsWith(`${each}/`));
      assert.ok(path.startsWith('web/') || shared, `${file} imports ${path}: see src/console/build.ts`);
    }
  }
  assert.ok(checked > 50, `only ${checked} imports were looked at`);
});

test('the words of the console stand in one file', () => {
  for (const file of pages.filter((each) => each.endsWith('.tsx'))) {
    const text = readFileSync(join(repository, file), 'utf8');
    // Text between tags, and attributes that people read or hear.
    const spoken = [
      ...[...text.matchAll(/>[ \n]*([A-Za-z][a-z]+(?: [A-Za-z][a-z]+)*[.:]?)[ \n]*<\//g)].map(
        (match) => match[1],
      ),
      ...[...text.matchAll(/\b(?:title|aria-label|placeholder|alt|label)="([A-Z][^"]*)"/g)].map(
        (match) => match[1],
      ),
    ];
    assert.deepEqual(spoken, [], `${file}: put these into web/words/english.ts`);
  }
});

test('docs/errors.md and the table of errors are equal', () => {
  const page = readFileSync(join(repository, 'docs', 'errors.md'), 'utf8');
  const rows = new Map(
    [...page.matchAll(/^\| `(\w+)` \| (\d) \| (\d+) \| (.*?) \| (.*?) \|$/gm)].map((match) => [
      match[1],
      match.slice(2),
    ]),
  );
  const wanted = Object.entries(errorTable).map(([code, row]) => [
    code,
    [String(row.exit), String(row.http), row.meaning, row.next],
  ]);
  assert.deepEqual([...rows].sort(), wanted.sort());
});

function importsOf(path: string): string[] {
  const text = readFileSync(path, 'utf8');
  return [...text.matchAll(/(?:from|import)\s*\(?\s*'([^'\n]+)'/g)].map((match) => match[1] ?? '');
}
