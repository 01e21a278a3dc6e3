import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { runPreflightController } from '../src/preflight/controller.ts';
import { run, runOrThrow } from '../src/process/run.ts';
import { generateSigningKey } from '../src/trust/keys.ts';
import { runUpdateController } from '../src/update/controller.ts';
import { recordKeys } from '../src/update/record.ts';
import { checkManifest, framed } from './check-output.ts';
import { Closing } from './closing.ts';
import { until } from './content-plane.ts';
import {
  type ControlPlane,
  included,
  type PodEnd,
  playJobs,
  readVersion,
  startControlPlane,
  untilVersion,
} from './control-plane.ts';
import { playOperators } from './operators.ts';
import { reportOf } from './reports.ts';
import { repository } from './tier.ts';

const manifests = {
  demo: {
    '0000_10_demo_00_config.yaml': `apiVersion: v1
kind: ConfigMap
metadata:
  name: demo
  namespace: default
  annotations:
    ${included}
data:
  version: 0.0.1-snapshot
`,
    '0000_10_demo_10_check.yaml': checkManifest(),
  },
};

const passes: PodEnd = { exitCode: 0, output: framed({ message: 'nothing found' }) };
const blocks: PodEnd = {
  exitCode: 3,
  output: framed({ risks: [{ name: 'LegacyMode', message: 'legacyMode is on', next: 'Turn it off.' }] }),
};

describe('sluice upgrade and sluice preflight, against real controllers', () => {
  const closing = new Closing();
  let plane: ControlPlane;
  let ends = blocks;

  before(async () => {
    plane = await startControlPlane([
      { version: '1.0.0', manifests },
      { version: '1.1.0', previous: ['1.0.0'], manifests },
    ]);
    closing.add('the API', () => plane.close());
    const stop = new AbortController();
    const jobs = playJobs(plane.client, () => ends, stop.signal);
    const options = { ...plane.options(stop.signal), client: jobs.client };
    const initialRelease = `quay.example/release@${plane.releases.get('1.0.0')?.payload}`;
    const running = Promise.all([
      jobs.done,
      playOperators(plane.client, stop.signal),
      runPreflightController(options),
      runUpdateController({ ...options, initialRelease }),
    ]);
    closing.add('the controllers', () => {
      stop.abort();
      return running;
    });
    await plane.hold('1.0.0');
    await untilVersion(
      plane.client,
      '1.0.0',
      (version) => version.status?.history?.[0]?.state === 'Completed',
    );
  });

  after(() => closing.close());

  async function sluice(words: string[], exit: number) {
    const { code, stdout, stderr } = await run(
      join(repository, 'sluice'),
      [...words, '--kubeconfig', plane.cluster.kubeconfig],
      {
        timeoutMs: 60_000,
        env: { ...process.env, NO_COLOR: '1' },
      },
    );
    assert.equal(code, exit, `sluice ${words.join(' ')}: ${stdout}${stderr}`);
    return { stdout, stderr };
  }

  /** Ends the watching of a request for 1.1.0 when it has said these words. */
  async function leftAt(words: RegExp, ...more: string[]): Promise<string> {
    const args = ['upgrade', '--to', '1.1.0', '--kubeconfig', plane.cluster.kubeconfig, ...more];
    const child = spawn(join(repository, 'sluice'), args, { stdio: ['ignore', 'ignore', 'pipe'] });
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      if (words.test(text)) child.kill('SIGINT');
      said += text;
    });
    const [code] = await once(child, 'close');
    assert.equal(code, 130, said);
    return said;
  }

  test('a version that is nowhere is told apart from one that is refused', async () => {
    const { stderr } = await sluice(['upgrade', '--to', '1.1.0', '--dry-run'], 1);
    assert.match(
      stderr,
      /no bundle at hand holds the version 1\.1\.0; 1\.0\.0 is at hand\n {2}next: Attach media/,
    );
    assert.match((await sluice(['upgrade', '--to-latest'], 1)).stderr, /no update is available from 1\.0\.0/);
    assert.match(
      (await sluice(['upgrade', '--to', 'v1.0.0'], 1)).stderr,
      /version v1\.0\.0; 1\.0\.0 is at hand\n {2}next: Did you mean 1\.0\.0\? If not: attach media/,
    );
    assert.match(
      (await sluice(['upgrade', '--to', 'latest', '--dry-run'], 1)).stderr,
      /next: "latest" is no version: the newest at hand is 1\.0\.0 .*upgrade --to-latest/,
    );
    assert.match(
      (await sluice(['release', 'status', 'v1.0.0'], 1)).stderr,
      /at hand: ocp-release-bundle-1\.0\.0-x86_64\)\n {2}next: Did you mean 1\.0\.0\?/,
    );
    await sluice(['upgrade', '--to', '1.1.0', '--to-latest'], 2);
    await sluice(['preflight', 'run'], 2);
  });

  test('Ctrl-C ends the watching: what was asked for goes on, and is said to', async () => {
    await plane.mount('1.1.0', 'master-0');
    let release = () => {};
    const after = new Promise<void>((resolve) => {
      release = resolve;
    });
    ends = { ...blocks, after };
    assert.match(
      await leftAt(/preflight: /, '--dry-run'),
      /the preflight update-\w+ goes on by itself; it changes nothing\n {2}see what it found: \S*sluice preflight show update-\w+\n/,
    );
    const said = await leftAt(/Requested update/);
    assert.match(
      said,
      /the request for 1\.1\.0 stands[\s\S]* {2}see how it goes: \S*sluice upgrade status\n/,
    );
    assert.equal((await readVersion(plane.client))?.spec.desiredUpdate?.version, '1.1.0');
    await sluice(['upgrade', 'clear'], 0);
    ends = blocks;
    release();
  });

  test('--dry-run runs the checks and changes nothing', async () => {
    const { stdout, stderr } = await sluice(['upgrade', '--to', '1.1.0', '--dry-run'], 3);
    assert.match(stdout, /^BLOCKED: 1 unaccepted risk: LegacyMode$/m);
    assert.match(stdout, /^LegacyMode +demo +Risk +\d+s +legacyMode is on$/m);
    assert.match(stdout, /^ReleaseContent +- +Info .*mounted on master-0$/m);
    assert.match(stdout, /^Next:\n[\s\S]*^ {2}LegacyMode: Turn it off\.$/m);
    const version = await plane.client.get(plane.client.kinds.ClusterVersion, 'version');
    assert.equal(version.spec.desiredUpdate, undefined);
    assert.match(stderr, /nothing was changed but the report update-\w+/);
  });

  test('the same as data names who refuses', async () => {
    const { stdout } = await sluice(['upgrade', '--to', '1.1.0', '--dry-run', '-o', 'json'], 3);
    const report = JSON.parse(stdout);
    assert.deepEqual(
      [report.from, report.to, report.verdict, report.refusedBy],
      ['1.0.0', '1.1.0', 'Blocked', ['LegacyMode']],
    );
  });

  test('a real update is refused with every reason, and can be taken back', async () => {
    const { stdout } = await sluice(['upgrade', '--to', '1.1.0'], 3);
    assert.match(stdout, /^The update to 1\.1\.0 is refused: \d findings stand against it\.$/m);
    assert.match(stdout, /^LegacyMode +preflight +demo: legacyMode is on$/m);
    assert.match(stdout, /^ReleaseContent +content +/m);
    assert.match(stdout, /^Next:\n[\s\S]*^ {2}LegacyMode: Turn it off\.$/m);
    assert.match(stdout, /accept LegacyMode --to 1\.1\.0 --reason WHY\n[\s\S]*upgrade clear$/m);
    assert.match(
      (await sluice(['upgrade', 'status'], 0)).stdout,
      /Cluster version is 1\.0\.0[\s\S]*ReleaseAccepted=False:[\s\S]*LegacyMode[\s\S]*upgrade clear/,
    );
    const quiet = await sluice(['upgrade', 'recommend', '--version', '1.1.0', '--quiet'], 3);
    assert.equal(quiet.stdout, 'LegacyMode\n');
    const taken = ['--quiet', '--accept', 'LegacyMode'];
    assert.equal((await sluice(['upgrade', 'recommend', '--version', '1.1.0', ...taken], 0)).stdout, '');
    const data = JSON.parse((await sluice(['upgrade', '--to', '1.1.0', '-o', 'json'], 3)).stdout);
    assert.deepEqual(data.refusedBy, data.findings.map(({ name }: { name: string }) => name).sort());
    assert.ok(data.refusedBy.includes('LegacyMode') && data.refusedBy.includes('ReleaseContent'));
    assert.match((await sluice(['upgrade', 'clear'], 0)).stderr, /Taken back: the request for 1\.1\.0/);
    assert.match((await sluice(['upgrade', 'clear'], 0)).stderr, /Nothing is asked for/);
  });

  test('risks are accepted and taken back by name', async () => {
    assert.match(
      (await sluice(['upgrade', 'accept', 'LegacyMode', '--to', '1.1.0'], 0)).stderr,
      /accepted for 1\.1\.0: LegacyMode/,
    );
    await sluice(['preflight', 'run', '--to', '1.1.0', '--detailed-exitcode'], 4);
    const misspelt = (await sluice(['upgrade', 'accept', 'Nope', '--to', '1.1.0'], 0)).stderr;
    const back = /\n {2}to take it back: \S*sluice (upgrade accept Nope- --to 1\.1\.0)\n/.exec(misspelt)?.[1];
    const taken = (await sluice(back?.split(' ') ?? [], 0)).stderr;
    assert.match(taken, /accepted for 1\.1\.0: LegacyMode\n/);
    assert.doesNotMatch(taken, /to take it back/);
    assert.match(
      (await sluice(['upgrade', 'accept', 'LegacyMode-', '--to', '1.1.0'], 0)).stderr,
      /accepted for 1\.1\.0: none/,
    );
  });

  test('the finding is mended: the preflight passes, and says so in ls, show and recommend', async () => {
    ends = passes;
    assert.match((await sluice(['preflight', 'run', '--to', '1.1.0'], 0)).stdout, /^PASSED: /m);
    assert.match(
      (await sluice(['preflight', 'ls'], 0)).stdout,
      /^update-[0-9a-f]{12} +1\.1\.0 +1\.0\.0 +Passed/m,
    );
    const [named = ''] = (await sluice(['preflight', 'ls', '-o', 'name'], 0)).stdout.split('\n');
    assert.match(named, /^updatepreflight\//);
    assert.equal((await sluice(['preflight', 'show', named, '-o', 'name'], 0)).stdout, `${named}\n`);
    assert.match(
      (await sluice(['preflight', 'show', '1.1.0', '-o', 'wide'], 0)).stdout,
      /DemoCheck +demo +Passed .*nothing found/,
    );
    assert.match(
      (await sluice(['upgrade', 'recommend'], 0)).stdout,
      /^Updates to 1\.1:\n.*\n1\.1\.0 +on media \(master-0\) +Passed +no known issues relevant to this cluster$/m,
    );
    assert.match(
      (await sluice(['upgrade', 'recommend', '--version', '1.1.0'], 0)).stdout,
      /^1\.1\.0: no known issues[\s\S]*Next:\n {2}\S*sluice release add 1\.1\.0\n {2}\S*sluice upgrade --to 1\.1\.0$/m,
    );
    assert.equal((await sluice(['upgrade', 'recommend', '--version', '1.1.0', '--quiet'], 0)).stdout, '');
    assert.match(
      (await sluice(['upgrade', 'recommend', '--version', '9.9.9'], 1)).stderr,
      /at hand: 1\.1\.0/,
    );
    await sluice(['preflight', 'show', 'nothing'], 1);
  });

  test('a dry run does not pass, nor bid to wait, where a damaged medium has ended the copy', async () => {
    const { kinds } = plane.client;
    const copiesAre = (copies: object[]) =>
      plane.client.patch(kinds.NodeUpdate, 'master-0', { status: { copies } }, { subresource: 'status' });
    const message = 'blob sha256:1 is not what was signed';
    const release = 'ocp-release-bundle-1.1.0-x86_64';
    await copiesAre([{ release, state: 'Failed', reason: 'DigestMismatch', message }]);
    const { stdout } = await sluice(['upgrade', '--to', '1.1.0', '--dry-run'], 3);
    assert.match(stdout, /ReleaseContent[\s\S]*the medium at master-0 is damaged \(DigestMismatch: blob/);
    assert.match(stdout, /Waiting does not help: detach the medium and attach another copy/);
    assert.doesNotMatch(stdout, /PASSED|Wait for the copies/);
    await copiesAre([]);
  });

  test('the update goes through to Completed, and tells its way', async () => {
    await plane.hold('1.1.0');
    const { stderr } = await sluice(['upgrade', '--to-latest'], 0);
    assert.match(
      stderr,
      /Requested update to 1\.1\.0\n[\s\S]*1\.1\.0 is accepted\n[\s\S]*Completed: the cluster runs 1\.1\.0/,
    );
    assert.match((await sluice(['upgrade'], 0)).stdout, /Cluster version is 1\.1\.0/);
    const { stderr: again } = await sluice(['upgrade', '--to', '1.1.0'], 0);
    assert.match(again, /the cluster runs 1\.1\.0 already/);
    const reports = async () =>
      (await plane.client.list(plane.client.kinds.UpdatePreflight)).items.map(({ metadata, status }) => ({
        name: metadata.name,
        status,
      }));
    const before = await reports();
    const dry = await sluice(['upgrade', '--to', '1.1.0', '--dry-run'], 0);
    await until('the object of the dry run is gone', async () => (await reports()).length === before.length);
    assert.deepEqual(await reports(), before, 'what let the update through stands as it was');
    ends = { ...passes, after: new Promise<void>(() => {}) };
    assert.match(await leftAt(/preflight: /, '--dry-run'), /the checks are given up, and leave nothing\n/);
    ends = passes;
    await until('what was left is gone', async () => (await reports()).length === before.length);
    assert.deepEqual(await reports(), before);
    const shown = await sluice(['preflight', 'show', '1.1.0'], 5);
    assert.doesNotMatch(shown.stdout, /Next:|Update: /);
    assert.match(shown.stderr, /runs 1\.1\.0 already/);
    assert.match(dry.stdout, /PASSED: [\s\S]*CHECK +COMPONENT +RESULT/);
    assert.doesNotMatch(dry.stdout, /Update: /, 'no next step that is none');
    assert.match(
      dry.stderr,
      /runs 1\.1\.0 already: there is nothing to update.*\n {2}.*upgrade report show 1\.1\.0/,
    );
    await sluice(['upgrade', '--to', '1.0.0'], 3);
    const { stderr: back } = await sluice(['upgrade', '--to', '1.1.0'], 0);
    assert.match(back, /Taken back: the request for 1\.0\.0\.\n.*runs 1\.1\.0 already/);
    const left = await readVersion(plane.client);
    assert.equal(left?.spec.desiredUpdate?.version, '1.1.0', 'nothing else is asked for any more');
  });

  test('its signed report is carried out and verified elsewhere, without a cluster', async () => {
    const { report } = await reportOf(plane, '1.1.0');
    const dir = join(plane.dir, 'carried');
    const keyFile = join(plane.dir, 'cluster.pub');
    const key = await sluice(['upgrade', 'report', 'key'], 0);
    await writeFile(keyFile, key.stdout);
    assert.match(
      (await sluice(['upgrade', 'report', 'ls'], 0)).stdout,
      /^sluice-update-[0-9a-f]{12}-\d+ +1\.0\.0 +1\.1\.0 +\S+Z +0 +[0-9a-f]{16}$/m,
    );
    assert.match(
      (await sluice(['upgrade', 'report', '1.1.0'], 0)).stdout,
      /from 1\.0\.0 to 1\.1\.0\n[\s\S]*Nothing\./,
    );
    await mkdir(dir);
    const { stdout } = await sluice(['upgrade', 'report', 'show', '--out', dir], 0);
    const path = stdout.trim();
    assert.equal(path, join(dir, 'update-1.0.0-to-1.1.0.dsse.json'));

    const verify = async (file: string, pub: string) =>
      await run(
        join(repository, 'sluice'),
        ['upgrade', 'report', 'verify', file, '--key', pub, '-o', 'json'],
        {
          timeoutMs: 60_000,
          env: { PATH: process.env.PATH ?? '' },
        },
      );
    const good = await verify(path, keyFile);
    assert.equal(good.code, 0, good.stderr);
    assert.deepEqual(JSON.parse(good.stdout), report);
    assert.match(good.stderr, /verified: /);
    assert.equal(await readFile(join(dir, 'report.pub'), 'utf8'), key.stdout);

    const foreign = join(plane.dir, 'foreign.pub');
    await writeFile(foreign, generateSigningKey().publicPem);
    const untrusted = await verify(path, foreign);
    assert.deepEqual([untrusted.code, untrusted.stdout], [6, '']);
    assert.match(untrusted.stderr, /none of the given keys signed it: foreign/);
    const envelope = JSON.parse(await readFile(path, 'utf8'));
    const body = Buffer.from(envelope.payload, 'base64')
      .toString('utf8')
      .replace('"force":false', '"force":true');
    await writeFile(path, JSON.stringify({ ...envelope, payload: Buffer.from(body).toString('base64') }));
    assert.equal((await verify(path, keyFile)).code, 6, 'a report that was changed');
    await sluice(['upgrade', 'report', 'show', '9.9.9'], 1);
  });

  test('openssl, which knows nothing of us, verifies the bytes that are signed', async () => {
    const { object } = await reportOf(plane, '1.1.0');
    const { payloadType, payload, signatures } = JSON.parse(object.data?.[recordKeys.report] ?? '');
    const body = Buffer.from(payload, 'base64');
    const file = (name: string) => join(plane.dir, name);
    const signed = `DSSEv1 ${payloadType.length} ${payloadType} ${body.length} `;
    await writeFile(file('signed'), Buffer.concat([Buffer.from(signed), body]));
    await writeFile(file('signature'), Buffer.from(signatures[0].sig, 'base64'));
    await writeFile(file('report.pub'), object.data?.[recordKeys.publicKey] ?? '');
    await runOrThrow('openssl', [
      ...['dgst', '-sha256', '-verify', file('report.pub'), '-signature', file('signature'), file('signed')],
    ]);
  });
});
