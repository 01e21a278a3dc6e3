import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { globSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { mainScript, scriptFolder, wrapperHead, wrapperTail } from '../packaging/loader.ts';
import { makeProgram } from '../packaging/program.ts';
import { commandTable } from '../src/cli/commands.ts';
import { run, runOrThrow } from '../src/process/run.ts';
import { scriptCacheSuffix } from '../src/program/files.ts';
import { runtimeFlags } from '../src/program/self.ts';
import { packageInto } from './packaged.ts';
import { systemdBase } from './systemd/base.ts';
import { needs, repository } from './tier.ts';

let directory: string;
let program: string;

before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'sluice-package-test-'));
  program = await packageInto(join(directory, 'first'));
});
after(() => rm(directory, { recursive: true }));

/** Nothing of this machine but its kernel and its C library. */
const bare = { env: { PATH: '/nowhere', HOME: '/nowhere' } };

test('the same source gives the same bytes', async () => {
  const again = await packageInto(join(directory, 'second'));
  const hash = async (path: string) =>
    createHash('sha256')
      .update(await readFile(path))
      .digest('hex');
  assert.equal(await hash(program), await hash(again));
  await rm(join(directory, 'second'), { recursive: true });
});

test('it says which version and commit it is, and every command is inside', async () => {
  const said = JSON.parse((await runOrThrow(program, ['--version', '-o', 'json'], bare)).stdout);
  const ours = JSON.parse((await runOrThrow(join(repository, 'sluice'), ['--version', '-o', 'json'])).stdout);
  assert.equal(said.version, ours.version);
  assert.equal(said.commit.replace('-changed', ''), ours.commit);
  assert.deepEqual([said.runtime, said.platform], [ours.runtime, ours.platform]);
  const checkout = join(repository, 'sluice');
  // Each names itself as it was called.
  const help = (await runOrThrow(checkout, ['--help'])).stdout.replaceAll(checkout, 'sluice');
  assert.equal((await runOrThrow(program, ['--help'], bare)).stdout, help);
  for (const { name } of commandTable) {
    const { code, stdout, stderr } = await run(program, [name, '--help'], bare);
    assert.equal(code, 0, `${name}: ${stderr}`);
    assert.match(stdout, new RegExp(`Usage: sluice ${name}`));
  }
});

test('the licences of all that is in it come with it, and openpgp can be exchanged', async () => {
  const { stdout } = await runOrThrow(program, ['licences'], bare);
  for (const name of ['openpgp', 'undici', 'yaml', 'Node.js', 'V8']) assert.ok(stdout.includes(name), name);
  assert.match(stdout, /GNU LESSER GENERAL PUBLIC LICENSE[\s\S]*GNU GENERAL PUBLIC LICENSE/);
  const parts = join(directory, 'parts');
  await runOrThrow(program, ['licences', '--extract', parts], bare);
  const [openpgp = '', ...more] = globSync(join(parts, scriptFolder, 'openpgp-*.cjs'));
  assert.deepEqual(more, []);
  await writeFile(openpgp, `console.log('exchanged');\n${await readFile(openpgp, 'utf8')}`);
  const main = join(parts, scriptFolder, 'main.cjs');
  const from = (words: string[]) => runOrThrow(process.execPath, [...runtimeFlags, main, ...words]);
  assert.match((await from(['--version'])).stdout, /^sluice /);
  const loads = `require(${JSON.stringify(openpgp)})`;
  assert.equal((await runOrThrow(process.execPath, ['-e', loads])).stdout, 'exchanged\n');
  const refused = await run(program, ['licences', '--extract', parts], bare);
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /is not empty/);
});

test('what is inside runs with the flags of ./sluice, and takes what the engine made of it beforehand', async () => {
  for (const flag of runtimeFlags) {
    assert.ok(
      (await readFile(join(repository, 'sluice'), 'utf8')).includes(flag),
      `./sluice passes no ${flag}`,
    );
  }
  const probe = `
    const { getRawAsset } = require('node:sea');
    const { Script } = require('node:vm');
    const inside = (name) => Buffer.from(getRawAsset('${scriptFolder}/' + name));
    const text = ${JSON.stringify(wrapperHead)} + inside('main.cjs').latin1Slice() + ${JSON.stringify(wrapperTail)};
    const { cachedDataRejected } = new Script(text, { cachedData: inside('main.cjs${scriptCacheSuffix}') });
    // Two to the fortieth steps, unless the engine gives up backtracking.
    const matches = /^(a+)+$/.test('a'.repeat(40) + '!');
    console.log(JSON.stringify({ cachedDataRejected, matches, words: process.argv.slice(2) }));`;
  const scratch = await mkdtemp(join(directory, 'probe-'));
  const probing = join(directory, 'probe');
  const parts = { scripts: { texts: new Map([[mainScript, probe]]), modules: [] }, notices: '', commit: 'x' };
  const node = process.execPath;
  const options = { node, builder: node, ownMachine: true, scratch };
  await writeFile(probing, await makeProgram(parts, options), { mode: 0o755 });
  const { stdout } = await runOrThrow(probing, ['--title=x', 'word'], {
    env: { ...bare.env, NODE_OPTIONS: '--no-such-flag' },
    timeoutMs: 30_000,
  });
  assert.deepEqual(JSON.parse(stdout), {
    cachedDataRejected: false,
    matches: false,
    words: ['--title=x', 'word'],
  });
});

test(
  'the whole story from 1.0.0 to 1.1.0 where there is no Node, no podman and nothing of this checkout',
  needs('root', 'systemd', 'busybox', 'xorriso'),
  async () => {
    // The demo's own part, which builds images and waits, runs here; every command of Sluice runs over there.
    // A place of its own: tests/quickstart.test.ts works in the clone's.
    const place = join(directory, 'story');
    const wrapper = join(directory, 'sluice-elsewhere');
    await writeFile(wrapper, elsewhere(systemdBase(), program, place), { mode: 0o755 });
    const there = await run(wrapper, ['--which-node']);
    assert.match(there.stdout, /^no node$/m, there.stderr);
    const words = [
      join(repository, 'demo', 'main.ts'),
      '--json',
      '--runner',
      'sandbox',
      '--program',
      wrapper,
      '--dir',
      place,
    ];
    const { code, stdout, stderr } = await run(process.execPath, words, { timeoutMs: 10 * 60_000 });
    assert.equal(code, 0, stderr.slice(-4000));
    const summary = JSON.parse(stdout.trim().split('\n').at(-1) ?? '');
    assert.deepEqual([summary.from, summary.to, summary.state], ['1.0.0', '1.1.0', 'Completed']);
    assert.ok(stderr.includes(`${wrapper} upgrade`), 'the demo used another program');
  },
);

/** A script that runs the program in a root of its own: the base system, the demo's directory, and nothing else. */
function elsewhere(base: string, file: string, place: string): string {
  const demo = join(repository, 'demo', 'releases');
  return `#!/bin/sh
set -eu
# The release engineer's machine is another one, with xorriso.
[ "\${1:-} \${2:-}" != 'bundle build' ] || exec ${file} "$@"
# A mount namespace of its own for each process: nothing is left behind on the machine.
[ "\${SLUICE_ELSEWHERE:-}" = 1 ] || SLUICE_ELSEWHERE=1 exec unshare --mount --propagation private "$0" "$@"
root=${directory}/root
mkdir -p "$root" ${place}
mount -t tmpfs tmpfs "$root"
mkdir -p "$root/usr" "$root/etc" "$root/proc" "$root/sys" "$root/dev" "$root/run" "$root/var/lib" "$root${place}"
mkdir -p "$root/tmp" "$root/root" "$root${demo}"
for link in bin sbin lib lib64; do [ ! -e ${base}/$link ] || ln -s usr/$link "$root/$link"; done
for part in usr etc; do mount --bind ${base}/$part "$root/$part"; mount -o remount,ro,bind "$root/$part"; done
mount --rbind /proc "$root/proc"; mount --rbind /sys "$root/sys"; mount --rbind /dev "$root/dev"
mount --bind ${place} "$root${place}"
mount --bind ${demo} "$root${demo}"
cp ${file} "$root/sluice"
cd "$root"
if [ "\${1:-}" = --which-node ]; then exec chroot "$root" /bin/sh -c 'command -v node podman runc || echo no node'; fi
PATH=/usr/sbin:/usr/bin HOME=/root exec chroot "$root" /sluice "$@"
`;
}
