import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ConfigMap } from '../api/core.ts';
import type { Digest } from '../oci/digest.ts';
import type { GateFacts, VerifiedTarget } from './facts.ts';
import { judge, wayThrough } from './finding.ts';
import { known, unknown } from './known.ts';
import { openPGPGate } from './openpgp.ts';
import { releaseKeysIn, type SignatureWord, signatureWord } from './release-keys.ts';

const payload: Digest = `sha256:${'b'.repeat(64)}`;
const name = 'ReleaseOpenPGPSignature';

function found(openpgp: GateFacts['openpgp'], target: Partial<VerifiedTarget> = { signatures: [] }) {
  const verified = { verified: true, version: '1.1.0', digest: payload, previous: [], ...target };
  return openPGPGate({ target: verified, openpgp } as unknown as GateFacts);
}

const refused = known<SignatureWord | undefined>({ good: false, message: 'no', next: 'bring it' });

test('S8 a signature that does not hold is a blocking risk with what to do', () => {
  const [finding] = found(refused);
  assert.deepEqual(finding, {
    name,
    gate: 'openpgp',
    severity: 'blocking',
    result: 'Risk',
    message: 'The update cannot be verified: no',
    next: 'bring it',
  });
});

test('S8 force goes through it, an accepted name does not: the cluster-version operator would refuse it', () => {
  const findings = found(refused);
  const names = (rule: { accepted: string[]; force: boolean }) => {
    const judged = judge(findings, { accepted: new Set(rule.accepted), force: rule.force });
    return { blocking: judged.blocking.length, forced: judged.forced.map((each) => each.name) };
  };
  assert.deepEqual(names({ accepted: [name], force: false }), { blocking: 1, forced: [] });
  assert.deepEqual(names({ accepted: [], force: true }), { blocking: 0, forced: [name] });
});

test('a check of a release that takes the name is an ordinary check', () => {
  assert.equal(wayThrough({ name }), 'force');
  assert.equal(wayThrough({ name, component: 'demo' }), 'acceptance');
});

test('P-34 keyrings that cannot be read, and signatures that cannot, are errors', () => {
  assert.equal(found(unknown('forbidden'))[0]?.result, 'Error');
  assert.equal(found(refused, {})[0]?.result, 'Error');
});

test('where nothing is demanded there is no row, and one that holds says by which key', () => {
  assert.deepEqual(found(known(undefined)), []);
  assert.equal(found(known({ good: true, message: 'key A of B' }))[0]?.result, 'Passed');
});

const kind = { apiVersion: 'v1', kind: 'ConfigMap' } as const;

const marked = (data: Record<string, string>): ConfigMap => ({
  ...kind,
  metadata: {
    name: 'release-verification',
    annotations: { 'release.openshift.io/verification-config-map': '' },
  },
  data,
});

test('on OpenShift it is always demanded, elsewhere where keys are configured', async () => {
  assert.equal(releaseKeysIn([], 'kubernetes').required, false);
  assert.equal(releaseKeysIn([], 'standalone').required, false);
  assert.equal(releaseKeysIn([], 'openshift').required, true);
  assert.equal(releaseKeysIn([marked({ 'verifier-public-key-a': 'k' })], 'kubernetes').required, true);
});

test('marked keys of which none can be used demand it too: a mistake is no way around', async () => {
  const keys = releaseKeysIn([marked({ 'store-a': 'https://store.example' })], 'kubernetes');
  const word = await signatureWord(keys, { payload, carried: [], now: 0 });
  assert.equal(word?.good, false);
  assert.match(word?.message ?? '', /no release keys/);
  assert.match(word?.next ?? '', /--force/);
  const broken = releaseKeysIn([marked({ 'verifier-public-key-a': 'no key' })], 'kubernetes');
  const said = await signatureWord(broken, { payload, carried: [Buffer.from('x')], now: 0 });
  assert.equal(said?.good, false);
});

test('ConfigMaps without the label hold no signatures', async () => {
  const binaryData = { [`sha256-${'b'.repeat(64)}-1`]: Buffer.from('x').toString('base64') };
  const plain: ConfigMap = { ...kind, metadata: { name: 'a' }, binaryData };
  const labels = { 'release.openshift.io/verification-signatures': 'any value' };
  const labelled: ConfigMap = { ...kind, metadata: { name: 'a', labels }, binaryData };
  assert.equal(releaseKeysIn([plain], 'openshift').signatures.size, 0);
  assert.equal(releaseKeysIn([labelled], 'openshift').signatures.size, 1);
});
