import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { isSluiceError } from '../errors/error.ts';
import type { Digest } from '../oci/digest.ts';
import { bootcDriver, parseBootcStatus } from './bootc.ts';
import { parseRpmOstreeStatus, rpmOstreeDriver, stageArguments } from './rpm-ostree.ts';

const fixture = (name: string) => readFileSync(join(import.meta.dirname, 'fixtures', name), 'utf8');
const digest = (character: string): Digest => `sha256:${character.repeat(64)}`;

/** A program that records its words, prints what the case asks for, and ends as it asks. */
function program(t: TestContext, cases: string) {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-driver-'));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  const path = join(dir, 'program');
  writeFileSync(path, `#!/bin/sh\necho "$*" >>${dir}/calls\ncase "$*" in\n${cases}\nesac\n`);
  chmodSync(path, 0o755);
  return { path, calls: () => readFileSync(join(dir, 'calls'), 'utf8').trim().split('\n') };
}

const print = (name: string) => `cat ${join(import.meta.dirname, 'fixtures', name)}`;

test('rpm-ostree: the status of a host of commits and of one of images', () => {
  const commits = parseRpmOstreeStatus(fixture('rpm-ostree-commits.json'));
  assert.deepEqual(commits.booted, {
    image: `ostree@${digest('1')}`,
    digest: digest('1'),
    version: '41.20250101.3.0',
  });
  assert.equal(commits.staged?.digest, digest('2'), 'layered packages: the base counts');
  assert.equal(commits.stream, 'stable');
  const images = parseRpmOstreeStatus(fixture('rpm-ostree-images.json'));
  assert.deepEqual(images.booted?.image, `quay.io/fedora/fedora-coreos@${digest('a')}`);
  assert.equal(images.stream, 'next');
});

test('B68 a deployment that is not understood is passed over; only the booted one must be', () => {
  const status = parseRpmOstreeStatus(fixture('rpm-ostree-foreign.json'));
  assert.equal(status.booted?.digest, digest('1'));
  assert.deepEqual(status.others, []);
  assert.throws(() => parseRpmOstreeStatus('{"deployments":[{"booted":true}]}'), /no checksum/);
  assert.throws(() => parseRpmOstreeStatus('{"deployments":[]}'), /nothing is booted/);
  assert.throws(() => parseRpmOstreeStatus('nonsense'), /not JSON/);
});

const refused = (code: string, words: RegExp) => (error: unknown) => {
  assert.ok(isSluiceError(error), String(error));
  assert.equal(error.code, code);
  assert.match(error.message, words);
  return true;
};

test('rpm-ostree: what is said to stage a commit, and an image of a cluster by its node’s registry', () => {
  const image = `quay.io/os/node@${digest('b')}`;
  assert.deepEqual(stageArguments(`ostree@${digest('b')}`, digest('b'), undefined), [
    'deploy',
    '--lock-finalization',
    '--skip-branch-check',
    `revision=${'b'.repeat(64)}`,
  ]);
  const booted = { image: `quay.io/os/node@${digest('a')}`, digest: digest('a') };
  assert.deepEqual(stageArguments(image, digest('b'), booted, '10.0.0.1:22625'), [
    'rebase',
    '--lock-finalization',
    `ostree-unverified-registry:10.0.0.1:22625/os/node@${digest('b')}`,
  ]);
});

test('a host by itself stays on its origin: no graph leads it to another repository or past a signature', async (t) => {
  const booted = { image: `quay.io/os/node@${digest('a')}`, digest: digest('a') };
  const next = stageArguments(`quay.io/os/node@${digest('b')}`, digest('b'), booted);
  assert.deepEqual(
    next,
    ['deploy', '--lock-finalization', digest('b')],
    'scheme and tag are those of the origin',
  );
  for (const image of ['quay.io/os/evil', 'quay.io.evil.example/os/node', 'evil.example:443/os/node']) {
    assert.throws(
      () => stageArguments(`${image}@${digest('b')}`, digest('b'), booted),
      refused('Conflict', /this host follows quay\.io\/os\/node/),
    );
  }
  assert.throws(
    () => stageArguments(`quay.io/os/node@${digest('b')}`, digest('b'), undefined),
    /follows nothing/,
  );
  const signed = (signature: unknown) =>
    program(
      t,
      `status*) sed 's|"transport": "registry"|"transport": "registry", "signature": ${JSON.stringify(signature)}|' ${join(import.meta.dirname, 'fixtures', 'bootc-staged.json')};;`,
    );
  const policy = signed('containerPolicy');
  await bootcDriver({ command: policy.path }).stage(`quay.io/os/node@${digest('b')}`, digest('b'));
  assert.equal(
    policy.calls().at(-1),
    `switch --download-only --enforce-container-sigpolicy quay.io/os/node@${digest('b')}`,
  );
  await assert.rejects(
    bootcDriver({ command: policy.path }).stage(`evil.example/os/node@${digest('b')}`, digest('b')),
    refused('Conflict', /follows quay\.io\/os\/node/),
  );
  await assert.rejects(
    bootcDriver({ command: signed({ ostreeRemote: 'fedora' }).path }).stage(
      `quay.io/os/node@${digest('b')}`,
      digest('b'),
    ),
    refused('Conflict', /keys of an ostree remote/),
  );
});

test('rpm-ostree: the image of an origin, in every form that it is written in', () => {
  for (const origin of [
    'ostree-image-signed:docker://quay.io/os/node:stable',
    'ostree-image-signed:registry:quay.io/os/node',
    'ostree-unverified-registry:quay.io/os/node:stable',
    'ostree-unverified-image:docker://quay.io/os/node:stable',
    'ostree-remote-registry:fedora:quay.io/os/node:stable',
    'ostree-remote-image:fedora:registry:quay.io/os/node:stable',
    'ostree-remote-image:fedora:docker://quay.io/os/node@sha256:abc',
  ]) {
    const text = JSON.stringify({
      deployments: [
        {
          booted: true,
          'container-image-reference': origin,
          'container-image-reference-digest': digest('a'),
        },
      ],
    });
    assert.equal(parseRpmOstreeStatus(text).booted?.image, `quay.io/os/node@${digest('a')}`, origin);
  }
});

test('B50 an order that is killed, hangs or loses its connection is unknown, never refused', async (t) => {
  const status = `status*) ${print('rpm-ostree-commits.json')};;`;
  for (const end of [
    'kill -9 $$',
    "echo 'error: GDBus.Error:org.freedesktop.DBus.Error.NoReply: Message recipient disconnected' >&2; exit 1",
    "echo 'error: Bus owner changed, aborting.' >&2; exit 1",
  ]) {
    const { path } = program(t, `${status}\nfinalize*) ${end};;`);
    const outcome = await rpmOstreeDriver({ command: path }).finalize(digest('2'));
    assert.equal(outcome.kind, 'unknown', end);
  }
  const slow = program(t, `${status}\nfinalize*) sleep 30;;`);
  const timed = await rpmOstreeDriver({ command: slow.path, orderMs: 200 }).finalize(digest('2'));
  assert.deepEqual(timed, { kind: 'unknown', message: 'rpm-ostree finalize-deployment: took too long' });
  const bootc = program(t, `status*) ${print('bootc-staged.json')};;\nupgrade*) kill -9 $$;;`);
  assert.equal((await bootcDriver({ command: bootc.path }).finalize(digest('b'))).kind, 'unknown');
});

test('B56 B64 refusals of rpm-ostree: an inhibitor blocks, another deployment is a conflict', async (t) => {
  const expected = '2'.repeat(64);
  const cases: [string, string][] = [
    ['error: Reboot blocked by a systemd inhibitor lock in "block" mode', 'Blocked'],
    [`error: Expected staged base checksum ${expected}, but found ${'3'.repeat(64)}`, 'Conflict'],
    ['error: Transaction in progress: deploy', 'Blocked'],
    ['error: No space left on device', 'CommandFailed'],
  ];
  for (const [said, code] of cases) {
    const { path } = program(
      t,
      `status*) ${print('rpm-ostree-commits.json')};;\nfinalize*) echo '${said}' >&2; exit 1;;`,
    );
    await assert.rejects(rpmOstreeDriver({ command: path }).finalize(digest('2')), (error) => {
      assert.ok(isSluiceError(error));
      assert.equal(error.code, code, said);
      return true;
    });
  }
  const { path, calls } = program(t, `status*) ${print('rpm-ostree-commits.json')};;`);
  await assert.rejects(rpmOstreeDriver({ command: path }).finalize(digest('9')), /expected sha256:9/);
  assert.ok(
    calls().every((call) => call.startsWith('status')),
    'B64: nothing is finalized',
  );
  await rpmOstreeDriver({ command: path }).finalize(digest('2'));
  assert.equal(calls().at(-1), `finalize-deployment ${expected}`);
});

test('B50 what an order before has unlocked is finalized all the same, by its checksum', async (t) => {
  const { path, calls } = program(
    t,
    `status*) ${print('rpm-ostree-commits.json')};;\n"finalize-deployment --allow-unlocked"*) ;;\nfinalize*) echo 'error: Staged deployment already unlocked' >&2; exit 1;;`,
  );
  await rpmOstreeDriver({ command: path }).finalize(digest('2'));
  assert.equal(calls().at(-1), `finalize-deployment --allow-unlocked ${'2'.repeat(64)}`);
});

test('another update driver is left alone', async (t) => {
  const { path, calls } = program(
    t,
    `status*) ${print('rpm-ostree-commits.json')};;\n*register-driver*) echo 'error: Updates and deployments are driven by Zincati (zincati.service)' >&2; exit 1;;`,
  );
  await assert.rejects(
    rpmOstreeDriver({ command: path }).stage(`ostree@${digest('b')}`, digest('b')),
    /driven by Zincati/,
  );
  assert.ok(!calls().some((call) => call.includes('lock-finalization')));
});

test('bootc: status, staging for download only, finalizing exactly what was expected', async (t) => {
  const { os, downloadOnly } = parseBootcStatus(fixture('bootc-staged.json'));
  assert.deepEqual([os.booted?.version, os.staged?.version, downloadOnly], ['41.1', '41.2', true]);
  assert.equal(os.others?.[0]?.digest, digest('0'));
  const { path, calls } = program(t, `status*) ${print('bootc-staged.json')};;`);
  const driver = bootcDriver({ command: path });
  await driver.stage(`quay.io/os/node@${digest('b')}`, digest('b'));
  assert.equal(calls().at(-1), `switch --download-only quay.io/os/node@${digest('b')}`);
  await assert.rejects(driver.finalize(digest('9')), /expected sha256:9/);
  await driver.finalize(digest('b'));
  assert.equal(calls().at(-1), 'upgrade --from-downloaded --apply');
});

test('bootc without download-only for switch: what is staged is locked right after, and unlocked to be finalized', async (t) => {
  const old = program(
    t,
    `"switch --download-only"*) echo "error: unexpected argument '--download-only' found" >&2; exit 2;;\nstatus*) sed 's/"downloadOnly": true/"old": true/' ${join(import.meta.dirname, 'fixtures', 'bootc-staged.json')};;`,
  );
  const ostree = program(t, '*) ;;');
  const systemctl = program(t, '*) ;;');
  const driver = bootcDriver({ command: old.path, ostree: ostree.path, systemctl: systemctl.path });
  await driver.stage(`quay.io/os/node@${digest('b')}`, digest('b'));
  assert.deepEqual(ostree.calls(), ['admin lock-finalization']);
  await assert.rejects(driver.finalize(digest('9')), /expected sha256:9/);
  assert.deepEqual(ostree.calls().length, 1, 'another deployment stays locked');
  assert.deepEqual(await driver.finalize(digest('b')), { kind: 'ordered' });
  assert.deepEqual(ostree.calls(), ['admin lock-finalization', 'admin lock-finalization --unlock']);
  assert.deepEqual(systemctl.calls(), ['reboot']);
  const stays = program(t, `*unlock*) echo 'error: No staged deployment' >&2; exit 1;;`);
  const broken = bootcDriver({ command: old.path, ostree: stays.path, systemctl: systemctl.path });
  await assert.rejects(broken.finalize(digest('b')), refused('Conflict', /No staged deployment/));
  assert.deepEqual(systemctl.calls(), ['reboot'], 'what stays locked would boot the old system: no reboot');
});

test('B50 bootc does not return from an order that was taken: that is unknown, and soon', async (t) => {
  const { path } = program(t, `status*) ${print('bootc-staged.json')};;\nupgrade*) exec sleep 60;;`);
  const outcome = await bootcDriver({ command: path, orderMs: 200 }).finalize(digest('b'));
  assert.deepEqual(outcome, {
    kind: 'unknown',
    message: 'bootc upgrade --from-downloaded --apply: took too long',
  });
});

test('bootc: a host that came by another transport than a registry is led nowhere by a graph', async (t) => {
  const fixture = join(import.meta.dirname, 'fixtures', 'bootc-staged.json');
  const { path, calls } = program(
    t,
    `status*) sed 's|"transport": "registry"|"transport": "containers-storage"|' ${fixture};;`,
  );
  const image = `quay.io/os/node@${digest('b')}`;
  await assert.rejects(
    bootcDriver({ command: path }).stage(image, digest('b')),
    refused('Conflict', /came by 'containers-storage'/),
  );
  await bootcDriver({ command: path, pullFrom: async () => '10.0.0.1:22625' }).stage(image, digest('b'));
  assert.match(calls().at(-1) ?? '', /^switch --download-only 10\.0\.0\.1:22625/);
});

test('B70 a reboot that systemd refuses is an error, and one that waits', async (t) => {
  const { path } = program(
    t,
    `status*) ${print('bootc-staged.json')};;\nupgrade*) echo 'Call to Reboot failed: Access denied' >&2; exit 1;;`,
  );
  await assert.rejects(bootcDriver({ command: path }).finalize(digest('b')), (error) =>
    isSluiceError(error, 'Blocked'),
  );
});
