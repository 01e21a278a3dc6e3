import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { buildBundle } from '../../src/build/bundle.ts';
import { findProgramFiles } from '../../src/build/program.ts';
import { makeRelease, testKey } from '../bundles.ts';
import { packageInto } from '../packaged.ts';
import { needs } from '../tier.ts';
import { bootHost, until } from './host.ts';
import { v1 } from './seen.ts';

const key = testKey('maker');
const { fingerprint } = key.trusted;
const tier = needs('root', 'systemd');
let directory: string;
let medium: string;

before(async () => {
  if (tier.skip !== undefined) return;
  directory = await mkdtemp(join(tmpdir(), 'sluice-install-test-'));
  await packageInto(join(directory, 'dist'));
  const release = await makeRelease({ version: '1.0.0', dir: directory, key: key.pair });
  medium = join(directory, 'medium');
  await buildBundle({
    payload: release.payloadSource,
    images: release.sources,
    privatePem: key.pair.privatePem,
    out: medium,
    program: await findProgramFiles(join(directory, 'dist')),
  });
});
after(() => tier.skip === undefined && rm(directory, { recursive: true }));

/** Runs the script of a disk on this machine, for the root of another one. */
function install(disk: string, ...words: string[]): { status: number | null; said: string } {
  const script = join(disk, 'sluice-program', 'install');
  const { status, stdout, stderr } = spawnSync('sh', [script, ...words], { encoding: 'utf8' });
  return { status, said: `${stdout}${stderr}` };
}

test(
  'a machine with nothing else is installed from a disk, again without a change, and cleared',
  tier,
  async (t) => {
    const host = await bootHost(t, {
      config: '[updates]\nstrategy = "marker_file"\nenabled = false\n',
      booted: v1,
      versions: {},
      medium,
    });
    const say = (...words: string[]) =>
      host.inside(['sh', '-c', '"$@" 2>&1; echo "code $?"', 'sh', ...words], { check: false });
    const run = (...words: string[]) => say('sh', '/mnt/sluice-program/install', ...words);
    assert.match(say('/mnt/sluice-program/install'), /Permission denied/, 'the disk is mounted noexec');
    assert.match(run(), /--fingerprint is missing[\s\S]*code 2/);
    assert.match(
      run('--fingerprint', '0'.repeat(64)),
      new RegExp(`signed by the key ${fingerprint}[\\s\\S]*code 6`),
    );
    assert.match(
      say('ls', '/usr/local/bin'),
      /^code 0$/m,
      'something was installed without a good fingerprint',
    );

    const first = run('--fingerprint', fingerprint, '--enable', 'sluice-agent');
    assert.match(first, /sluice \S+ \(commit \S+\): \d+ files installed[\s\S]*code 0/);
    await until(
      () => host.inside(['systemctl', 'is-active', 'sluice-agent'], { check: false }).startsWith('active'),
      () => host.inside(['journalctl', '-b', '-u', 'sluice-agent', '--no-pager'], { check: false }),
    );
    // It is active before it has looked at anything.
    const why = () => host.inside(['sluice', 'node', 'why'], { check: false });
    await until(() => /updates are not enabled|no update/i.test(why()), why);
    assert.match(host.inside(['systemctl', 'is-enabled', 'sluice-agent']), /^enabled/);
    assert.match(host.inside(['getent', 'group', 'sluice']), /^sluice:/);
    // The key of the disk is trusted from now on.
    assert.match(host.inside(['sluice', 'bundle', 'verify', '/mnt']), /verified/);
    assert.match(host.inside(['sh', '-c', 'command -v node || echo no node']), /^no node/);

    assert.match(run('--fingerprint', fingerprint), /nothing to change\ncode 0/);
    host.inside(['sh', '-c', 'echo "# mine" >>/etc/systemd/system/sluice-registry.service']);
    const again = run('--fingerprint', fingerprint);
    assert.match(again, /kept as it is: \/etc\/systemd\/system\/sluice-registry.service[\s\S]*code 0/);
    const script = '/usr/local/share/sluice/install';
    assert.match(say('sh', script, '--status'), /ok {7}\/usr\/local\/bin\/sluice/);

    const cleared = say('sh', script, '--uninstall');
    assert.match(cleared, /kept: \/etc\/systemd\/system\/sluice-registry.service was changed/);
    assert.match(cleared, /left: \/etc\/sluice[\s\S]*Sluice is removed\ncode 0/);
    assert.match(host.inside(['systemctl', 'is-active', 'sluice-agent'], { check: false }), /^inactive/);
    assert.match(say('ls', '/usr/local/bin', '/usr/local/share'), /^\/usr\/local\/share:$(?![\s\S]*sluice)/m);
    assert.match(run('--uninstall'), /nothing is installed/);
  },
);

test(
  'a root of another system: a newer disk takes the place of the older one, and nothing is left behind',
  tier,
  async () => {
    const root = join(directory, 'root');
    await mkdir(root);
    const files = () => globSync(`${root}/**`, { withFileTypes: true }).filter((each) => !each.isDirectory());
    const words = ['--root', root, '--fingerprint', fingerprint];
    const installed = install(medium, ...words);
    assert.equal(installed.status, 0, installed.said);
    assert.ok(files().length > 30, `${files().length} files`);
    const unit = await readFile(join(root, 'etc/systemd/system/sluice-agent.service'), 'utf8');
    assert.match(unit, /^ExecStart=\/usr\/local\/bin\/sluice /m);

    const newer = join(directory, 'newer');
    await cp(medium, newer, { recursive: true });
    const program = join(newer, 'sluice-program');
    await rm(join(program, 'docs/bundles.md'));
    await writeFile(join(program, 'CHANGELOG.md'), 'a newer one');
    const forged = install(newer, ...words);
    assert.equal(forged.status, 6, forged.said);
    assert.match(forged.said, /this disk is not what was signed/);
    assert.doesNotMatch(await readFile(join(root, 'usr/local/share/sluice/CHANGELOG.md'), 'utf8'), /newer/);
    const { formatChecksums, parseChecksums, signBytes } = await import('../../src/trust/checksums.ts');
    const { createHash } = await import('node:crypto');
    const sums = parseChecksums(await readFile(join(program, 'SHA256SUMS'), 'utf8'), 'sums');
    sums.delete('docs/bundles.md');
    sums.set('CHANGELOG.md', createHash('sha256').update('a newer one').digest('hex'));
    await writeFile(join(program, 'SHA256SUMS'), formatChecksums(sums));
    const unsigned = install(newer, ...words);
    assert.equal(unsigned.status, 6, unsigned.said);
    assert.match(unsigned.said, /the signature of SHA256SUMS is not good/);
    await writeFile(
      join(program, 'SHA256SUMS.sig'),
      signBytes(Buffer.from(formatChecksums(sums)), key.pair.privatePem),
    );
    const updated = install(newer, ...words);
    assert.equal(updated.status, 0, updated.said);
    assert.match(updated.said, /: 2 files installed/);
    assert.equal(await readFile(join(root, 'usr/local/share/sluice/CHANGELOG.md'), 'utf8'), 'a newer one');
    assert.deepEqual(globSync(join(root, 'usr/local/share/sluice/docs/bundles.md')), []);

    const removed = install(newer, '--root', root, '--uninstall', '--purge');
    assert.equal(removed.status, 0, removed.said);
    const left = files().map((each) => join(each.parentPath, each.name).slice(root.length));
    // What systemd's own tools keep of users stays.
    assert.deepEqual(
      left.filter((path) => !/^\/etc\/(group|gshadow|passwd|shadow)-?$/.test(path)),
      [],
    );
  },
);
