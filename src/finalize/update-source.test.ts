import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '../observe/clock.ts';
import { silentLogger } from '../observe/log.ts';
import { createMetrics } from '../observe/metrics.ts';
import type { Digest } from '../oci/digest.ts';
import { defaultConfig, type FinalizeConfig } from './config.ts';
import type { OsDriver } from './driver.ts';
import { createAgentMetrics } from './metrics.ts';
import { createUpdateSource } from './update-source.ts';

const digest = (letter: string): Digest => `sha256:${letter.repeat(64)}`;
const os = (letter: string, version: string) => ({
  image: `ostree@${digest(letter)}`,
  digest: digest(letter),
  version,
});

/** Runs a source whose graph is down until it has asked once; gives everything that it wanted meanwhile. */
async function wishes(stagedBefore: Digest | undefined, config: Partial<FinalizeConfig> = {}) {
  const stop = new AbortController();
  const seen: unknown[] = [];
  const driver = { status: async () => ({ booted: os('1', '41.1'), staged: os('2', '41.2') }) };
  const source = createUpdateSource({
    http: {
      request: async () => {
        throw new Error('connection refused');
      },
      close: async () => {},
    },
    driver: driver as unknown as OsDriver,
    nodeUuid: 'abc',
    stagedBefore: async () => stagedBefore,
    config: () => ({
      ...defaultConfig,
      cincinnati: { baseUrl: 'https://graph', allowHttp: false },
      ...config,
    }),
    changed: () => seen.push(source.desired()),
    metrics: createAgentMetrics(createMetrics()),
    clock: { ...systemClock, sleep: async () => stop.abort() },
    random: () => 0,
    logger: silentLogger,
    signal: stop.signal,
  });
  assert.equal(source.desired(), undefined, 'before it is known what is staged nothing is decided');
  await source.run();
  return { seen, last: source.desired() };
}

test('while the graph is down, what the agent staged itself stays wanted after it was started anew', async () => {
  const wish = { image: `ostree@${digest('2')}`, digest: digest('2'), version: '41.2' };
  assert.deepEqual(await wishes(digest('2')), { seen: [wish], last: wish });
});

test('B64 what a person staged is not wanted at any moment: the graph has not named it', async () => {
  assert.deepEqual(await wishes(undefined), { seen: [{}], last: {} });
  assert.deepEqual(await wishes(digest('9')), { seen: [{}], last: {} });
  const nobodyAsked = { cincinnati: { baseUrl: '', allowHttp: false } };
  assert.deepEqual(await wishes(undefined, nobodyAsked), { seen: [{}], last: {} });
});

test('an agent that is told to end waits for no graph that does not answer', async () => {
  const stop = new AbortController();
  const logged: string[] = [];
  const source = createUpdateSource({
    http: {
      request: ({ signal }) =>
        new Promise((_, reject) => {
          signal?.addEventListener('abort', () => reject(new Error('aborted')), { once: true });
          stop.abort();
        }),
      close: async () => {},
    },
    driver: { status: async () => ({ booted: os('1', '41.1') }) } as unknown as OsDriver,
    nodeUuid: 'abc',
    stagedBefore: async () => undefined,
    config: () => ({ ...defaultConfig, cincinnati: { baseUrl: 'https://graph', allowHttp: false } }),
    changed: () => {},
    metrics: createAgentMetrics(createMetrics()),
    clock: systemClock,
    random: () => 0,
    logger: { ...silentLogger, warn: (_, message) => void logged.push(message) },
    signal: stop.signal,
  });
  await source.run();
  assert.deepEqual(logged, []);
});
