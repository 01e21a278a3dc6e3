import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { isSluiceError } from '../errors/error.ts';
import { parseBootcStatus } from './bootc.ts';
import { orderOutcome, refusal } from './refusal.ts';
import { parseRpmOstreeStatus } from './rpm-ostree.ts';

/** Outputs of the real programs; fixtures/captured/README.md says whose. */
const directory = join(import.meta.dirname, 'fixtures', 'captured');
const read = (name: string) => readFileSync(join(directory, name), 'utf8');

/** serde writes the value of an enumeration as a tag in YAML, and as an object of one key in JSON. */
const ostreeRemote = { tag: '!ostreeRemote', resolve: (text: string) => ({ ostreeRemote: text }) };
const bootc = (name: string) =>
  parseBootcStatus(JSON.stringify(parse(read(name), { customTags: [ostreeRemote] })));

const names = { centos: 'quay.io/centos-bootc/centos-bootc', some: 'quay.io/example/someimage' };

test('rpm-ostree: a captured host of commits with one staged', () => {
  const status = parseRpmOstreeStatus(read('rpm-ostree-staged.json'));
  assert.equal(status.booted?.version, '31.20200505.3.0');
  assert.equal(status.staged?.version, '31.20200517.3.0');
  assert.match(status.staged?.image ?? '', /^ostree@sha256:967b7b8d/);
  assert.equal(status.stream, 'stable');
});

test('rpm-ostree: a captured host of images; its stream is in the annotation of the manifest, or in a label', () => {
  const text = read('rpm-ostree-image.json');
  const status = parseRpmOstreeStatus(text);
  assert.match(status.booted?.image ?? '', /^quay\.io\/fedora\/fedora-coreos@sha256:ca99893c/);
  assert.equal(status.booted?.version, '43.20251024.3.0');
  assert.equal(status.stream, 'stable');
  const labelled = text.replace(
    String.raw`\"Labels\":{`,
    String.raw`\"Labels\":{\"com.coreos.stream\":\"testing\",`,
  );
  assert.notEqual(labelled, text);
  assert.equal(parseRpmOstreeStatus(labelled).stream, 'testing');
});

test('rpm-ostree: a captured workstation: of layered packages the base counts, and no stream is no error', () => {
  const status = parseRpmOstreeStatus(read('rpm-ostree-workstation.json'));
  const { deployments } = JSON.parse(read('rpm-ostree-workstation.json'));
  const bases = deployments.map(
    (each: Record<string, string>) => `sha256:${each['base-checksum'] ?? each.checksum}`,
  );
  assert.deepEqual(
    [status.booted, ...(status.others ?? [])].map((each) => each?.digest),
    bases,
  );
  assert.notEqual(bases[0], `sha256:${deployments[0].checksum}`, 'the fixture has layered packages');
  assert.equal(status.stream, undefined);
});

test('bootc: what is booted, staged and kept in each captured status', () => {
  /** File → image booted, first letters of what is staged, of what is kept. */
  const expected: Record<string, readonly [string, string, readonly string[]]> = {
    'bootc-booted-pinned.yaml': [
      names.centos,
      '',
      ['47e5ed613a970b6574bfa954ab25bb6e85656552899aa518b5961d9645102b37'],
    ],
    'bootc-booted-update-same-digest.yaml': [names.centos, '', []],
    'bootc-booted-usroverlay.yaml': [names.some, '', []],
    'bootc-booted-with-update-no-version.yaml': [names.centos, '', []],
    'bootc-booted-with-update.yaml': [names.centos, '', []],
    'bootc-only-booted.yaml': [names.centos, '', []],
    'bootc-ostree-remote.yaml': ['quay.io/otherexample/otherimage', '', []],
    'bootc-staged-booted.yaml': [names.some, '16dc2b62', []],
    'bootc-staged-download-only.yaml': [names.some, '16dc2b62', []],
    'bootc-v1a1-orig.yaml': [names.some, '16dc2b62', []],
    'bootc-v1a1.yaml': ['quay.io/otherexample/otherimage', '', []],
    'bootc-via-local-oci.yaml': ['/var/mnt/osupdate', '', []],
  };
  for (const [name, [image, staged, others]] of Object.entries(expected)) {
    const { os, downloadOnly } = bootc(name);
    assert.equal(os.booted?.image.split('@')[0], image, name);
    assert.equal(os.staged?.digest.slice('sha256:'.length, 15) ?? '', staged, name);
    assert.deepEqual(
      os.others?.map(({ digest }) => digest.slice('sha256:'.length)),
      others,
      name,
    );
    assert.equal(downloadOnly, name === 'bootc-staged-download-only.yaml', name);
  }
  const hostless = [
    'bootc-ostree-to-bootc.yaml', // Booted by rpm-ostree; an image waits.
    'bootc-rfe-ostree-deployment.yaml',
    'bootc-staged-rollback.yaml',
    'bootc-v1-null.json', // In a container.
  ];
  for (const name of hostless) assert.throws(() => bootc(name), /no image is booted/, name);
  assert.deepEqual(
    readdirSync(directory)
      .filter((name) => name.startsWith('bootc-'))
      .sort(),
    [...Object.keys(expected), ...hostless].sort(),
    'every one of them is tried',
  );
});

test('bootc: how the booted image is checked, and by what it came, as the captured statuses say it', () => {
  const remote = parse(read('bootc-ostree-remote.yaml'), { customTags: [ostreeRemote] });
  remote.status.booted.image.image = remote.spec.image; // There it stands in the wish alone.
  assert.deepEqual(parseBootcStatus(JSON.stringify(remote)).signature, { ostreeRemote: 'fedora' });
  assert.equal(bootc('bootc-staged-booted.yaml').signature, 'insecure');
  assert.equal(bootc('bootc-only-booted.yaml').signature, undefined);
  assert.equal(bootc('bootc-only-booted.yaml').transport, 'registry');
  assert.equal(bootc('bootc-via-local-oci.yaml').transport, 'oci');
});

test('B64 bootc: what rpm-ostree staged there has no image, and is somebody’s all the same', () => {
  const foreign = parse(read('bootc-rfe-ostree-deployment.yaml'));
  const { booted } = parse(read('bootc-only-booted.yaml')).status;
  const { os } = parseBootcStatus(JSON.stringify({ ...foreign, status: { ...foreign.status, booted } }));
  const checksum = foreign.status.staged.ostree.checksum;
  assert.deepEqual(os.staged, { image: `ostree@sha256:${checksum}`, digest: `sha256:${checksum}` });
});

const ended = (stderr: string) =>
  ({ code: 1, signal: null, stdout: '', stderr, timedOut: false }) as Parameters<typeof refusal>[2];

/** The texts of rpm-ostree d5ef5f0cb5 (src/daemon, src/app) and of systemctl, with their further lines. */
const refusals: readonly (readonly [string, 'Blocked' | 'Conflict' | 'CommandFailed'])[] = [
  [
    'error: Reboot blocked by a systemd inhibitor lock in `block` mode\nHeld by: dnf\nReason: upgrade',
    'Blocked',
  ],
  [
    'error: Reboot blocked by a systemd inhibitor lock in `block` mode\nHeld by: a\nReason: b\nand 2 other blocking inhibitor lock(s)\nUse `systemd-inhibit --list` to see details',
    'Blocked',
  ],
  ['error: Checking systemd inhibitor locks: GDBus.Error:org.freedesktop.DBus.Error.Failed: x', 'Blocked'],
  [
    'error: Transaction in progress: deploy --lock-finalization\n You can cancel the current transaction with `rpm-ostree cancel`',
    'Blocked',
  ],
  [
    'error: Updates and deployments are driven by Zincati (zincati.service)\nSee Zincati’s documentation at https://example.org/one\n at https://example.org/two\nUse --bypass-driver to bypass Zincati and perform the operation anyways',
    'Blocked',
  ],
  ['error: No deployments found', 'Conflict'],
  ['error: No pending staged deployment found', 'Conflict'],
  ["error: Staged deployment is not for osname 'default'", 'Conflict'],
  ['error: Expected staged base checksum aa, but found bb', 'Conflict'],
  ['error: Missing expected checksum', 'CommandFailed'],
  [
    'error: Failed to unlock finalization of staged deployment: unlinkat: Read-only file system',
    'CommandFailed',
  ],
  ['Call to Reboot failed: Access denied', 'Blocked'],
  [
    'Operation inhibited by "dnf" (PID 812 "dnf", user root), reason is "upgrade".\nPlease retry operation after closing inhibitors and logging out other users.\nAlternatively, ignore inhibitors and users with \'systemctl reboot -i\'.',
    'Blocked',
  ],
  ['error: Upgrading: No staged deployment found', 'Conflict'],
];

test('B56 the refusals of the real programs are recognised, whatever lines stand around them', () => {
  for (const [text, code] of refusals) {
    for (const said of [text, `Staging deployment...done\n${text}`]) {
      const error = refusal('program', 'word', ended(said));
      assert.ok(isSluiceError(error, code), `${error.code}: ${said}`);
    }
  }
});

test('B56 what the holder of an inhibitor calls himself decides nothing', () => {
  const said = (why: string) =>
    ended(`error: Reboot blocked by a systemd inhibitor lock in \`block\` mode\nHeld by: x\nReason: ${why}`);
  for (const why of ['NoReply', 'Timeout was reached', 'Expected staged base checksum', 'Reboot initiated']) {
    assert.throws(
      () => orderOutcome('rpm-ostree', 'finalize-deployment', said(why)),
      (error) => isSluiceError(error, 'Blocked'),
    );
  }
});

test('B50 a reboot that rpm-ostree says is under way already is under way', () => {
  const outcome = orderOutcome(
    'rpm-ostree',
    'x',
    ended('error: Reboot initiated, cannot start new transaction'),
  );
  assert.equal(outcome.kind, 'unknown');
});
