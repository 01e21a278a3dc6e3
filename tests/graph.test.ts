import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { CincinnatiGraph } from '../src/graph/graph.ts';
import { readReleases } from '../src/graph/releases.ts';
import { createGraphHandler } from '../src/graph/server.ts';
import { type RunningServer, serve } from '../src/http/server.ts';
import { silentLogger } from '../src/observe/log.ts';
import { run } from '../src/process/run.ts';
import { makeRelease, testKey } from './bundles.ts';
import { openBundles } from './control-plane.ts';
import { repository } from './tier.ts';

describe('the update graph of signed bundles', () => {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-graph-'));
  const key = testKey();
  const stranger = testKey('stranger');
  let server: RunningServer;
  let media: Awaited<ReturnType<typeof openBundles>>;
  const paths: string[] = [];

  before(async () => {
    for (const [version, previous, pair] of [
      ['1.0.0', [], key.pair],
      ['1.1.0', ['1.0.0', '0.9.0'], key.pair],
      ['6.6.6', ['1.0.0'], stranger.pair],
    ] as const) {
      paths.push((await makeRelease({ version, previous, dir, key: pair })).path);
    }
    writeFileSync(join(dir, 'test.pub'), key.trusted.publicPem);
    media = await openBundles(paths);
    const releases = async () => {
      const found = await Promise.all(
        paths.map(async (path) => {
          const one = await openBundles([path]);
          const { releases: read } = await readReleases([one.content], [key.trusted]);
          await one.close();
          return read;
        }),
      );
      return found.flat();
    };
    server = await serve({
      address: '127.0.0.1',
      port: 0,
      handler: createGraphHandler({ releases, logger: silentLogger }),
    });
  });

  after(async () => {
    await server.close(0);
    await media.close();
    rmSync(dir, { recursive: true, force: true });
  });

  const get = async (path: string, headers: Record<string, string> = {}) => {
    const response = await fetch(`http://127.0.0.1:${server.port}${path}`, { headers });
    return { status: response.status, body: (await response.json()) as CincinnatiGraph & { kind?: string } };
  };

  for (const path of ['/api/upgrades_info/v1/graph', '/api/upgrades_info/graph']) {
    test(`${path} answers as the cluster-version operator asks`, async () => {
      const { status, body } = await get(`${path}?arch=amd64&channel=stable-1.1&id=x&version=1.0.0`, {
        accept: 'application/json',
      });
      assert.equal(status, 200);
      assert.deepEqual(
        body.nodes.map((node) => node.version),
        ['1.0.0', '1.1.0'],
        'what no trusted key signed is no node',
      );
      assert.deepEqual(body.edges, [[0, 1]]);
      assert.match(body.nodes[1]?.payload ?? '', /@sha256:[0-9a-f]{64}$/);
      assert.deepEqual([body.version, body.conditionalEdges], [1, []]);
    });
  }

  test('K6 a cluster whose own release is not at hand still finds its way', async () => {
    const { body } = await get('/api/upgrades_info/v1/graph?channel=c&version=0.9.0');
    const from = body.nodes.findIndex((node) => node.version === '0.9.0');
    const to = body.nodes.findIndex((node) => node.version === '1.1.0');
    assert.ok(body.edges.some((edge) => edge[0] === from && edge[1] === to));
  });

  for (const [path, headers, status, kind] of [
    ['/api/upgrades_info/v1/graph', {}, 400, 'missing_params'],
    ['/api/upgrades_info/v1/graph?channel=a&channel=b', {}, 400, 'invalid_params'],
    ['/api/upgrades_info/v1/graph?channel=%00', {}, 400, 'invalid_params'],
    ['/api/upgrades_info/v1/graph?channel=a', { accept: 'text/html' }, 406, 'invalid_content_type'],
    ['/other', {}, 404, 'not_found'],
  ] as const) {
    test(`${path} ${JSON.stringify(headers)}: ${status} ${kind}`, async () => {
      const answer = await get(path, headers);
      assert.deepEqual([answer.status, answer.body.kind], [status, kind]);
    });
  }

  test('sluice graph show prints the ways, and says what it left out', async () => {
    const words = [
      'graph',
      'show',
      ...paths.flatMap((path) => ['--from', path]),
      '--key',
      join(dir, 'test.pub'),
    ];
    const { code, stdout, stderr } = await run(join(repository, 'sluice'), words, { timeoutMs: 60_000 });
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^1\.0\.0 +1\.1\.0 /m);
    assert.match(stderr, /6\.6\.6/);
  });
});
