import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { repository } from './tier.ts';

const root = mkdtempSync(join(tmpdir(), 'sluice-install-'));
after(() => rmSync(root, { recursive: true, force: true }));

type Packages = Record<string, { dev?: boolean; version?: string }>;
const runtimeOnly = ['--omit=dev', '--include=optional'];

/** A clone whose packages npm installed by itself: nothing but what npm leaves lies in node_modules. */
function clone(name: string) {
  const directory = join(root, name);
  mkdirSync(join(directory, 'tests'), { recursive: true });
  const files = ['package.json', 'package-lock.json', '.npmrc', 'quickstart'];
  for (const file of [...files, 'tests/install.sh', 'tests/installed.ts']) {
    copyFileSync(join(repository, file), join(directory, file));
  }
  for (const folder of ['demo', 'src']) symlinkSync(join(repository, folder), join(directory, folder));
  mkdirSync(join(directory, 'node_modules'));
  for (const entry of readdirSync(join(repository, 'node_modules'))) {
    if (entry.startsWith('.')) continue;
    symlinkSync(join(repository, 'node_modules', entry), join(directory, 'node_modules', entry));
  }
  const list = 'node_modules/.package-lock.json';
  copyFileSync(join(repository, list), join(directory, list));
  return directory;
}

/** Changes the packages that a lock file names. */
function change(file: string, by: (packages: Packages) => void): void {
  const lock = JSON.parse(readFileSync(file, 'utf8')) as { packages: Packages };
  by(lock.packages);
  writeFileSync(file, JSON.stringify(lock, null, 2));
}

/** An npm that only tells with which words it was called. */
function tellingNpm(directory: string): NodeJS.ProcessEnv {
  const programs = join(directory, 'programs');
  mkdirSync(programs, { recursive: true });
  writeFileSync(join(programs, 'npm'), '#!/bin/sh\necho "$*" >>"$(dirname "$0")/called"\n');
  chmodSync(join(programs, 'npm'), 0o755);
  return { ...process.env, PATH: `${programs}:${process.env.PATH}` };
}

/** The words with which npm was called; undefined where it was not. */
function installs(directory: string, words: readonly string[]): string | undefined {
  const env = tellingNpm(directory);
  const script = '. tests/install.sh; install_npm "$@"';
  const ended = spawnSync('bash', ['-euc', script, 'bash', ...words], {
    cwd: directory,
    env,
    encoding: 'utf8',
  });
  assert.equal(ended.status, 0, ended.stderr);
  return called(directory);
}

function called(directory: string): string | undefined {
  const file = join(directory, 'programs', 'called');
  return existsSync(file) ? readFileSync(file, 'utf8').trim() : undefined;
}

test('what a plain npm ci installed is there, for the tests and for ./quickstart', () => {
  const directory = clone('plain');
  assert.equal(installs(directory, []), undefined);
  assert.equal(installs(directory, runtimeOnly), undefined);
});

test('the packages of the runtime alone are enough for ./quickstart, not for the tests', () => {
  const directory = clone('runtime');
  change(join(directory, 'node_modules/.package-lock.json'), (packages) => {
    for (const [path, row] of Object.entries(packages)) if (row.dev) delete packages[path];
  });
  assert.equal(installs(directory, runtimeOnly), undefined);
  assert.equal(installs(directory, []), 'ci --no-audit --no-fund --loglevel=error');
});

test('another lock file, or a package that is gone, is installed; who had the whole set keeps it', () => {
  const newer = clone('newer');
  change(join(newer, 'package-lock.json'), (packages) => {
    packages['node_modules/commander'] = { ...packages['node_modules/commander'], version: '99.0.0' };
  });
  assert.equal(installs(newer, runtimeOnly), 'ci --no-audit --no-fund --loglevel=error');
  const broken = clone('broken');
  rmSync(join(broken, 'node_modules', 'yaml'));
  assert.equal(installs(broken, runtimeOnly), 'ci --no-audit --no-fund --loglevel=error');
});

test('./quickstart --stop installs nothing where its program can run, also after the lock file changed', () => {
  const directory = clone('stop');
  change(join(directory, 'package-lock.json'), (packages) => {
    packages['node_modules/commander'] = { version: '99.0.0' };
  });
  const words = ['--dir', join(root, 'no-place'), '--stop'];
  const ended = spawnSync(join(directory, 'quickstart'), words, {
    env: tellingNpm(directory),
    encoding: 'utf8',
    timeout: 60_000,
  });
  assert.equal(called(directory), undefined);
  assert.equal(ended.status, 0, ended.stderr);
  assert.match(ended.stdout + ended.stderr, /nothing was left running/);
});

test('a registry that cannot be reached is named, with where to read on', () => {
  const directory = clone('alone');
  rmSync(join(directory, 'node_modules'), { recursive: true });
  const ended = spawnSync('bash', ['-euc', '. tests/install.sh; install_npm'], {
    cwd: directory,
    // Nothing listens at port 1 of the loopback.
    env: {
      ...process.env,
      npm_config_registry: 'http://127.0.0.1:1/',
      npm_config_cache: join(directory, 'cache'),
      npm_config_fetch_retries: '0',
    },
    encoding: 'utf8',
    timeout: 120_000,
  });
  assert.equal(ended.status, 1);
  assert.match(ended.stderr, /^error: the npm registry cannot be reached: http:\/\/127\.0\.0\.1:1\/$/m);
  const [, section] = /^ {2}next: .* see '([^']+)' in docs\/install\.md/m.exec(ended.stderr) ?? [];
  assert.ok(section !== undefined, ended.stderr);
  const page = readFileSync(join(repository, 'docs/install.md'), 'utf8');
  assert.ok(page.includes(`\n## ${section}\n`), `docs/install.md has no section ${section}`);
});
