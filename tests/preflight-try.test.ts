import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { buildImage, type ImageFile } from '../src/build/image.ts';
import { run } from '../src/process/run.ts';
import { busyboxFiles, curlFiles } from './image-registry.ts';
import { needs, repository } from './tier.ts';

const example = join(repository, 'docs', 'preflight-check');

describe(
  'sluice preflight try: the example of the documentation, without a cluster',
  needs('busybox', 'root'),
  () => {
    const dir = mkdtempSync(join(tmpdir(), 'sluice-try-'));
    let files: ImageFile[];

    before(async () => {
      files = [...busyboxFiles('wc', 'sha256sum', 'cut'), ...(await curlFiles())];
      await image('example', readFileSync(join(example, 'check.sh'), 'utf8'));
    });

    after(() => rmSync(dir, { recursive: true, force: true }));

    async function image(reference: string, script: string): Promise<string> {
      await buildImage({
        out: { directory: join(dir, 'images'), reference },
        files: [...files, { path: '/usr/bin/shop-check', mode: 0o755, data: script }],
        config: { entrypoint: ['/usr/bin/shop-check'], env: ['PATH=/bin:/usr/bin'], user: '65532' },
        directoryMode: 0o755,
      });
      return `oci:${join(dir, 'images')}:${reference}`;
    }

    async function tried(words: string[], exit: number) {
      const { code, stdout, stderr } = await run(join(repository, 'sluice'), ['preflight', 'try', ...words], {
        timeoutMs: 120_000,
        env: { ...process.env, NO_COLOR: '1' },
      });
      assert.equal(code, exit, `${stdout}\n${stderr}`);
      return { stdout, stderr };
    }

    const base = ['--cluster', join(example, 'recorded'), '--manifest', join(example, 'job.yaml')];

    test('a recorded setting that the release no longer knows is found', async () => {
      const { stdout } = await tried(
        ['--image', `oci:${join(dir, 'images')}:example`, ...base, '--to', '2.0.0'],
        3,
      );
      assert.match(stdout, /^RISK: RisksFound: mode is legacy, which 2\.0\.0 no longer knows$/m);
      assert.match(stdout, /^ShopLegacyMode +blocking +.* +configmap\/shop\/settings$/m);
    });

    test('mended in the recording, the check passes', async () => {
      const recorded = join(dir, 'recorded.yaml');
      writeFileSync(
        recorded,
        readFileSync(join(example, 'recorded', 'settings.yaml'), 'utf8').replace('legacy', 'plain'),
      );
      const cluster = mkdtempSync(join(dir, 'cluster-'));
      writeFileSync(join(cluster, 'all.yaml'), readFileSync(recorded));
      const { stdout } = await tried(
        ['--image', `oci:${join(dir, 'images')}:example`, '--cluster', cluster],
        0,
      );
      assert.match(stdout, /^PASSED: Passed: looked at the mode of the shop$/m);
    });

    test('the exact reads of the annotation are granted, and nothing beside them', async () => {
      const source = await image(
        'reads',
        `#!/bin/sh
account=/var/run/secrets/kubernetes.io/serviceaccount
get() { curl -s -o /dev/null -w '%{http_code} ' --cacert $account/ca.crt -H "Authorization: Bearer $(cat $account/token)" "https://$KUBERNETES_SERVICE_HOST:$KUBERNETES_SERVICE_PORT$1"; }
get /api/v1/namespaces/shop/secrets/license
get /api/v1/namespaces/shop/secrets/other
get /api/v1/namespaces/shop/secrets
exit 1
`,
      );
      const { stderr } = await tried(['--image', source, ...base], 5);
      // The Secret is not recorded: allowed and absent is 404, forbidden is 403.
      assert.match(stderr, /^404 403 403/m);
    });

    test('what a manifest asks for beyond the rule is refused with the offending entry', async () => {
      const manifest = join(dir, 'greedy.yaml');
      const text = readFileSync(join(example, 'job.yaml'), 'utf8');
      writeFileSync(manifest, text.replace('/secrets/shop/license', '/secrets/shop/*'));
      const words = ['--image', `oci:${join(dir, 'images')}:example`, '--cluster', join(example, 'recorded')];
      const { stderr } = await tried([...words, '--manifest', manifest], 1);
      assert.match(stderr, /asks for "\/secrets\/shop\/\*": wildcards are not granted/);
    });

    test('P-116 a check that prints garbage is an Error, and what it wrote is shown', async () => {
      const source = await image('garbage', '#!/bin/sh\necho all is well\n');
      const { stdout, stderr } = await tried(['--image', source, ...base], 5);
      assert.match(stdout, /^ERROR: ResultInvalid: its output holds no line "SLUICE-RESULT/m);
      assert.match(stderr, /all is well/);
    });
  },
);
