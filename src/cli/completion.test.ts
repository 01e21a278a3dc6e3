import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { repository } from '../../tests/tier.ts';

const place = mkdtempSync(join(tmpdir(), 'sluice-completion-'));
after(() => rmSync(place, { recursive: true }));
// Stands in for a program beside a cluster: it tells what it was asked, and answers two names.
const program = join(place, 'sluice');
writeFileSync(program, '#!/bin/sh\necho "$1-$2-$3"\necho master-0\n', { mode: 0o755 });

const environment = { ...process.env, PATH: `${place}:${process.env.PATH}`, KUBECONFIG: '/nowhere' };
const has = (shell: string) =>
  spawnSync(shell, ['-c', 'true']).error === undefined ? {} : { skip: `${shell} is not installed` };

function scriptOf(shell: string): string {
  const path = join(place, `completion.${shell}`);
  const made = spawnSync(join(repository, 'sluice'), ['completion', shell], { encoding: 'utf8' });
  assert.equal(made.status, 0, made.stderr);
  writeFileSync(path, made.stdout);
  return path;
}

const asked: Readonly<Record<string, (script: string, words: readonly string[]) => string>> = {
  bash: (script, words) =>
    `source ${script}; COMP_WORDS=(${quoted(words)}); COMP_CWORD=${words.length - 1}; _sluice; printf '%s\n' "\${COMPREPLY[@]}"`,
  zsh: (script, words) =>
    `compdef() { }; compadd() { shift; print -l -- $@ }; _files() { }; source ${script}; words=(${quoted(words)}); CURRENT=${words.length}; PREFIX=${quoted([words.at(-1) ?? ''])}; _sluice`,
  fish: (script, words) =>
    `source ${script}; complete -C '${words.join(' ')}' | string replace -r '\\t.*' ''`,
};
const quoted = (words: readonly string[]) => words.map((word) => `'${word}'`).join(' ');

for (const [shell, ask] of Object.entries(asked)) {
  test(
    `${shell} completes commands, their subcommands and options, and names of the cluster`,
    has(shell),
    () => {
      const script = scriptOf(shell);
      const complete = (...words: string[]) => {
        const found = spawnSync(shell, ['-c', ask(script, ['sluice', ...words])], {
          encoding: 'utf8',
          env: environment,
          cwd: place,
        });
        assert.equal(found.stderr, '');
        return found.stdout.split('\n').map((line) => line.trim());
      };
      for (const word of ['upgrade', 'preflight', 'window']) assert.ok(complete('').includes(word), word);
      for (const word of ['status', 'report', 'clear'])
        assert.ok(complete('upgrade', '').includes(word), word);
      const report = complete('upgrade', 'report', '');
      assert.ok(report.includes('verify') && !report.includes('recommend'), report.join());
      assert.ok(complete('upgrade', '--to', '').includes('completion-names-version'));
      assert.ok(complete('node', 'why', '').includes('completion-names-node'));
      assert.ok(complete('node', 'why', 'm').includes('master-0'));
      assert.ok(complete('window', 'open', '--nodes', '').includes('completion-names-node'));
      assert.ok(complete('completion', '').includes('zsh'));
      const closed = { '-o': 'wide yaml', '--output': 'json name' };
      for (const [option, words] of Object.entries(closed)) {
        const found = complete('release', 'ls', option, '');
        for (const word of words.split(' ')) assert.ok(found.includes(word), `${option}: ${found}`);
        assert.ok(!found.includes('--output') && !found.includes('master-0'), `${option}: ${found}`);
      }
      assert.ok(complete('up', '--workload', '').includes('sandbox'));
      const counts = complete('up', '--nodes', '');
      assert.ok(counts.includes('3') && !counts.includes('master-0'), `a number: ${counts}`);
      for (const [option, ...path] of [
        ['--nodes', 'console'],
        ['--version', 'payload', 'build'],
      ] as const) {
        const found = complete(...path, option, '');
        assert.ok(!found.some((word) => /^(?:completion-names|master-0)/.test(word)), `${option}: ${found}`);
      }
      assert.ok(complete('release', 'catalogs', '--olm', '').includes('v1'));
      assert.ok(!complete('cluster', 'install', '-o', '').includes('wide'), 'it takes yaml and json alone');
      if (shell === 'bash') assert.ok(complete('release', 'ls', '--output', '=', 'js').includes('json'));
      if (shell === 'fish') assert.ok(complete('release', 'ls', '--output=js').includes('--output=json'));
    },
  );
}

test('where there is no cluster there are no names, and no complaint', () => {
  const asking = (kind: string) =>
    spawnSync(join(repository, 'sluice'), ['completion', 'names', kind], {
      encoding: 'utf8',
      env: environment,
    });
  const { status, stdout, stderr } = asking('node');
  assert.deepEqual([status, stdout, stderr], [0, '', '']);
  assert.equal(asking('everything').status, 2);
});

test('a shell that has no completion: those that have one', () => {
  const { status, stderr } = spawnSync(join(repository, 'sluice'), ['completion', 'tcsh'], {
    encoding: 'utf8',
    env: environment,
  });
  assert.equal(status, 2);
  assert.match(stderr, /no completion for the shell 'tcsh'\n {2}next: Use one of: bash, zsh, fish\./);
});
