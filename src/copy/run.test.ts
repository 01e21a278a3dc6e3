import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { cp, mkdtemp, open, readdir, rename, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, type TestContext, test } from 'node:test';
import { makeRelease, type TestRelease, testKey } from '../../tests/bundles.ts';
import { repository } from '../../tests/tier.ts';
import { openBundle } from '../bundle/bundle.ts';
import { openMedia } from '../media/media.ts';
import { systemClock } from '../observe/clock.ts';
import { type Digest, hexOf } from '../oci/digest.ts';
import type { ContentSource } from '../oci/source.ts';
import { openStore, type Store } from '../store/store.ts';
import type { CopyProgress } from './meter.ts';
import type { Pace } from './pace.ts';
import { planCopy, requireSpace, spaceNeeded } from './plan.ts';
import { type CopyOutcome, runCopy } from './run.ts';
import { readWholeRecords } from './whole.ts';

const key = testKey();
let dir: string;
let release: TestRelease;

before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'sluice-copy-'));
  release = await makeRelease({
    version: '1.0.0',
    dir,
    key: key.pair,
    images: { web: {}, db: {} },
    blobBytes: 3 * 1024 * 1024,
  });
  await writeFile(join(dir, 'test.pub'), key.pair.publicPem);
});

after(() => rm(dir, { recursive: true, force: true }));

async function place(t: TestContext): Promise<{ media: string; store: string }> {
  const base = await mkdtemp(join(dir, 'case-'));
  t.after(() => rm(base, { recursive: true, force: true }));
  const media = join(base, 'media');
  await cp(release.path, media, { recursive: true });
  return { media, store: join(base, 'store') };
}

/** The same, with the media open and their bundle verified. */
async function opened(t: TestContext) {
  const { media, store } = await place(t);
  const { content, close } = await openMedia(media);
  t.after(close);
  const bundle = await openBundle(content, { name: release.name }, [key.trusted]);
  return { media, store, content, bundle };
}

interface CopyChange {
  readonly wrap?: (content: ContentSource) => ContentSource;
  readonly onProgress?: (progress: CopyProgress) => void;
  readonly stallMs?: number;
  readonly signal?: AbortSignal;
  readonly pace?: Pace;
}

async function copy(from: string, to: string, change: CopyChange = {}): Promise<CopyOutcome> {
  const media = await openMedia(from);
  try {
    const content = change.wrap?.(media.content) ?? media.content;
    const bundle = await openBundle(media.content, { name: release.name }, [key.trusted]);
    const plan = await planCopy(content, await openStore(to), bundle);
    return await runCopy(plan, {
      signal: change.signal ?? new AbortController().signal,
      clock: systemClock,
      ...(change.onProgress === undefined ? {} : { onProgress: change.onProgress }),
      ...(change.stallMs === undefined ? {} : { stallMs: change.stallMs }),
      ...(change.pace === undefined ? {} : { pace: change.pace }),
    });
  } finally {
    await media.close();
  }
}

const dataOf = (root: string, digest: Digest) =>
  join(root, 'docker/registry/v2/blobs/sha256', hexOf(digest).slice(0, 2), hexOf(digest), 'data');

/** The two largest blobs: the layers of the images. */
async function layers(from: string): Promise<{ digest: Digest; image: string }[]> {
  const media = await openMedia(from);
  const bundle = await openBundle(media.content, { name: release.name }, [key.trusted]);
  const plan = await planCopy(media.content, await openStore(join(dir, 'probe')), bundle);
  await media.close();
  return plan.missing.slice(0, 2).map(({ digest, image }) => ({ digest, image }));
}

test('a copy brings every byte, then the names, then the record', async (t) => {
  const { media, store } = await place(t);
  const seen: CopyProgress[] = [];
  const outcome = await copy(media, store, { onProgress: (progress) => seen.push(progress) });
  assert.equal(outcome.outcome, 'Whole');
  const record = (await readWholeRecords(store)).get(release.name);
  assert.equal(record?.bundle.digest, release.digest);
  assert.equal(record?.bytes, seen.at(-1)?.bytesTotal);
  assert.ok(outcome.outcome === 'Whole' && outcome.bytesWritten > 6 * 1024 * 1024);
  const copying = seen.filter((progress) => progress.phase === 'Copying');
  assert.ok(copying.every((each, index) => each.bytesDone >= (copying[index - 1]?.bytesDone ?? 0)));
  assert.equal(copying.at(-1)?.imagesDone, copying.at(-1)?.imagesTotal);
  assert.equal(seen.at(-1)?.phase, 'Verifying');
  // From here on the store is a source like any other.
  const bundle = await openBundle(await openStore(store), { name: release.name }, [key.trusted]);
  assert.equal(bundle.digest, release.digest);
});

test('C12 what is there and verified is not copied again', async (t) => {
  const { media, store } = await place(t);
  await copy(media, store);
  const again = await copy(media, store);
  assert.ok(again.outcome === 'Whole' && again.bytesWritten === 0);
});

test('C2 a blob that lost a byte in the store is copied again', async (t) => {
  const { media, store } = await place(t);
  await copy(media, store);
  const [layer] = await layers(media);
  assert.ok(layer);
  const path = dataOf(store, layer.digest);
  const { size } = await stat(path);
  await truncate(path, size - 1);
  const again = await copy(media, store);
  assert.ok(again.outcome === 'Whole' && again.bytesWritten > 0);
  assert.equal((await stat(path)).size, size);
});

test('a blob that changed in the store without changing its size is found and copied again', async (t) => {
  const { media, store } = await place(t);
  await copy(media, store);
  const [layer] = await layers(media);
  assert.ok(layer);
  await flipByte(dataOf(store, layer.digest));
  const again = await copy(media, store);
  assert.ok(again.outcome === 'Whole' && again.bytesWritten > 0);
});

test('a flipped bit on the media: never whole, and the message names image and digest', async (t) => {
  const { media, store } = await place(t);
  const [layer, other] = await layers(media);
  assert.ok(layer && other);
  await flipByte(dataOf(media, layer.digest));
  const outcome = await copy(media, store);
  assert.equal(outcome.outcome, 'Failed');
  assert.ok(outcome.outcome === 'Failed');
  const [problem] = outcome.problems;
  assert.equal(problem?.code, 'DigestMismatch');
  assert.ok(problem?.message.includes(layer.digest), problem?.message);
  assert.ok(problem?.message.includes(layer.image), problem?.message);
  assert.equal((await readWholeRecords(store)).size, 0);
  assert.equal(existsSync(dataOf(store, layer.digest)), false);
  // C14: what is right has come all the same, and good media finish it.
  assert.ok(existsSync(dataOf(store, other.digest)));
  const mended = await copy(release.path, store);
  assert.equal(mended.outcome, 'Whole');
});

test('a blob that is missing on the media is named', async (t) => {
  const { media, store } = await place(t);
  const [layer] = await layers(media);
  assert.ok(layer);
  await rm(dataOf(media, layer.digest));
  const outcome = await copy(media, store);
  assert.ok(outcome.outcome === 'Failed');
  assert.equal(outcome.problems[0]?.code, 'ContentMissing');
  assert.ok(outcome.problems[0]?.message.includes(layer.digest));
});

test('I8 media that vanish in mid-copy pause it, and it goes on inside the blob', async (t) => {
  const { media, store } = await place(t);
  let removed: Promise<void> | undefined;
  const outcome = await copy(media, store, {
    onProgress: (progress) => {
      if (progress.bytesWritten > 1024 * 1024) removed ??= takeAway(media);
    },
    // The file that is open is read to its end; the loss shows where the next one is looked for.
    wrap: slowly,
  });
  await removed;
  assert.equal(outcome.outcome, 'Paused');
  assert.ok(outcome.outcome === 'Paused' && outcome.code === 'MediaLost');
  assert.equal((await readWholeRecords(store)).size, 0);
  await rename(`${media}.away`, media);
  const again = await copy(media, store);
  assert.ok(again.outcome === 'Whole');
  assert.ok(again.bytesWritten < 6 * 1024 * 1024, 'what had come was copied again');
});

test('C16 a source that falls silent is given up after the stall limit, and what came is kept', async (t) => {
  const { media, store } = await place(t);
  const outcome = await copy(media, store, { stallMs: 100, wrap: stuckAfter(1024 * 1024) });
  assert.ok(outcome.outcome === 'Paused' && outcome.code === 'Stalled');
  const again = await copy(media, store);
  assert.ok(again.outcome === 'Whole' && again.bytesWritten < 6 * 1024 * 1024);
});

test('a copy that is told to stop stops, and is taken up again', async (t) => {
  const { media, store } = await place(t);
  const abort = new AbortController();
  const outcome = await copy(media, store, {
    signal: abort.signal,
    onProgress: (progress) => {
      if (progress.bytesWritten > 0) abort.abort();
    },
  });
  assert.equal(outcome.outcome, 'Stopped');
  assert.equal((await copy(media, store)).outcome, 'Whole');
});

test('a paced copy flushes piece by piece, and keeps what it has flushed when it is told to stop', async (t) => {
  const { media, store } = await place(t);
  const stop = new AbortController();
  let flushes = 0;
  const pace: Pace = {
    pieceBytes: 64 * 1024,
    async flush(act) {
      flushes += 1;
      if (flushes === 40) stop.abort();
      return await act();
    },
  };
  const stopped = await copy(media, store, { pace, signal: stop.signal });
  assert.equal(stopped.outcome, 'Stopped');
  const again = await copy(media, store, { pace });
  assert.ok(again.outcome === 'Whole' && again.bytesWritten < 5 * 1024 * 1024, JSON.stringify(again));
  assert.ok(flushes >= (6 * 1024 * 1024) / pace.pieceBytes, String(flushes));
});

test('C24 a copy that cannot end is refused before it begins', async (t) => {
  const { store, content, bundle } = await opened(t);
  const plan = await planCopy(content, await openStore(store), bundle);
  const space = { bytesFree: plan.bytesMissing, bytesTotal: plan.bytesMissing * 10, inodesFree: 1_000_000 };
  assert.throws(() => requireSpace(plan, space), { code: 'DiskFull', message: /out of disk space/ });
  assert.throws(() => requireSpace(plan, { ...space, bytesFree: 1e12, inodesFree: 3 }), { code: 'DiskFull' });
  assert.doesNotThrow(() => requireSpace(plan, { ...space, bytesFree: 1e12 }));
  assert.doesNotThrow(() => requireSpace(plan, { ...space, bytesFree: 1e12, inodesFree: 0 }));
  assert.deepEqual(spaceNeeded({ bytes: 0, blobs: 0 }, space), { bytes: 0, inodes: 0 });
});

test('killed with -9 at each fault point in turn, a copy loses nothing and shows nothing half', async (t) => {
  const { media, store } = await place(t);
  const points = [
    'copy-chunk:2',
    'copy-blob-committed:1',
    'copy-manifest:1',
    'copy-before-record',
    'copy-whole',
  ];
  for (const point of points) {
    const code = await copyInChild(media, store, point);
    assert.equal(code, 'SIGKILL', point);
    const records = await readWholeRecords(store);
    assert.equal(records.size, point === 'copy-whole' ? 1 : 0, point);
  }
  assert.equal(await copyInChild(media, store, undefined), 0);
  assert.equal((await readWholeRecords(store)).get(release.name)?.bundle.digest, release.digest);
});

async function copyInChild(media: string, store: string, fault: string | undefined): Promise<unknown> {
  const program = `
    import { readFileSync } from 'node:fs';
    import { preload } from '${join(repository, 'src/copy/preload.ts')}';
    import { openMedia } from '${join(repository, 'src/media/media.ts')}';
    import { loadTrustedKeys } from '${join(repository, 'src/trust/keys.ts')}';
    const [media, store, name, keys] = process.argv.slice(1);
    const opened = await openMedia(media);
    await preload(opened.content, name, store, { keys: await loadTrustedKeys(keys) });
    process.exit(0);`;
  const child = spawn(
    process.execPath,
    [
      '--disable-warning=ExperimentalWarning',
      '--input-type=module',
      '-e',
      program,
      media,
      store,
      release.name,
      dir,
    ],
    {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: { ...process.env, ...(fault && { SLUICE_FAULT: fault }) },
    },
  );
  const [code, signal] = await once(child, 'exit');
  return signal ?? code;
}

async function takeAway(media: string): Promise<void> {
  // Renamed, and every open file cut, as an unplugged disk cuts them.
  await rename(media, `${media}.away`);
}

async function flipByte(path: string): Promise<void> {
  const file = await open(path, 'r+');
  const byte = Buffer.alloc(1);
  await file.read(byte, 0, 1, 1000);
  byte[0] = (byte[0] ?? 0) ^ 1;
  await file.write(byte, 0, 1, 1000);
  await file.close();
}

function withStream(
  content: ContentSource,
  change: (stream: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array>,
): ContentSource {
  return {
    ...content,
    async blob(name, digest, options) {
      const reader = await content.blob(name, digest, options);
      return reader === undefined ? undefined : { ...reader, stream: change(reader.stream) };
    },
  };
}

function slowly(content: ContentSource): ContentSource {
  return withStream(content, async function* (stream) {
    for await (const chunk of stream) {
      yield chunk;
      await systemClock.sleep(30);
    }
  });
}

function stuckAfter(bytes: number): (content: ContentSource) => ContentSource {
  return (content) =>
    withStream(content, async function* (stream) {
      let seen = 0;
      for await (const chunk of stream) {
        if (seen >= bytes) await new Promise(() => {});
        seen += chunk.length;
        yield chunk;
      }
    });
}

/** A copy that was interrupted in its largest blob. @param arrived the bytes that had come of it. */
async function interrupted(t: TestContext, arrived: Buffer) {
  const { media, store, content, bundle } = await opened(t);
  const held = await openStore(store);
  const [largest] = (await planCopy(content, held, bundle)).missing;
  assert.ok(largest !== undefined);
  const writer = await held.begin(largest.digest, largest.size);
  await writer?.write(arrived);
  await writer?.suspend();
  return { media, store, content, bundle, held, largest };
}

test('C6 what an interrupted copy left spoiled is fetched anew from its first byte', async (t) => {
  const { media, store, content, bundle, largest } = await interrupted(t, Buffer.alloc(1_000_000, 'spoiled'));
  const seen: CopyProgress[] = [];
  const outcome = await copy(media, store, { onProgress: (progress) => seen.push(progress) });
  assert.ok(outcome.outcome === 'Whole');
  const plan = await planCopy(content, await openStore(store), bundle);
  assert.equal(outcome.bytesWritten, plan.bytesTotal + largest.size - 1_000_000);
  // What is fetched twice is not counted twice, and no bar runs backwards.
  const done = seen.filter((each) => each.phase === 'Copying').map((each) => each.bytesDone);
  assert.equal(done[0], 1_000_000);
  assert.ok(done.every((bytes, index) => bytes >= (done[index - 1] ?? 0) && bytes <= plan.bytesTotal));
});

/** A disk that says that it has flushed, and has not: the beginning of a blob is zeros, as often as is told. */
function forgetful(held: Store, root: string, times: number): Store {
  let left = times;
  return {
    ...held,
    async begin(digest, size, options) {
      const writer = await held.begin(digest, size, options);
      if (writer === undefined || size < 1_000_000) return writer;
      return {
        ...writer,
        async commit() {
          if (left > 0) {
            left -= 1;
            const partials = join(root, 'sluice/partial');
            const [partial = ''] = (await readdir(partials)).filter((name) => name.startsWith(hexOf(digest)));
            const file = await open(join(partials, partial), 'r+');
            await file.write(Buffer.alloc(4096), 0, 4096, 0);
            await file.close();
          }
          await writer.commit();
        },
      };
    },
  };
}

test('C22 a disk that loses the last write is found out: fetched once more, or told where it always does', async (t) => {
  const { store, content, bundle } = await opened(t);
  const copyTo = async (times: number) => {
    const plan = await planCopy(content, forgetful(await openStore(store), store, times), bundle);
    return await runCopy(plan, { signal: new AbortController().signal, clock: systemClock });
  };
  const never = await copyTo(1_000);
  assert.ok(never.outcome === 'Failed');
  assert.match(never.problems[0]?.message ?? '', /is damaged each time that it is written to /);
  assert.equal((await readWholeRecords(store)).size, 0);
  assert.equal((await copyTo(1)).outcome, 'Whole');
});

test('nothing of a copy stays behind as temporary files', async (t) => {
  const { media, store } = await place(t);
  await copy(media, store);
  assert.deepEqual(await readdir(join(store, 'sluice', 'partial')), []);
});

test('blobs come from elsewhere where they are offered; what fails there comes from another place, or from the source of the plan', async (t) => {
  const { store, content, bundle } = await opened(t);
  const plan = await planCopy(content, await openStore(store), bundle);
  const read: string[] = [];
  const counted = (label: string, broken: boolean): ContentSource => ({
    ...content,
    label,
    async blob(repository, digest, options) {
      read.push(label);
      return broken ? undefined : await content.blob(repository, digest, options);
    },
  });
  const asked = new Map<Digest, number>();
  const outcome = await runCopy(
    { ...plan, source: counted('source', false) },
    {
      signal: new AbortController().signal,
      clock: systemClock,
      elsewhere: async (blob) => {
        const times = (asked.get(blob.digest) ?? 0) + 1;
        asked.set(blob.digest, times);
        if (times === 1) return 'later';
        if (blob.digest >= 'sha256:8') return counted('broken peer', true);
        return times === 2 ? counted('peer that has gone', true) : counted('peer', false);
      },
    },
  );
  assert.equal(outcome.outcome, 'Whole');
  assert.deepEqual(
    [...new Set(asked.values())],
    [3],
    'each was put off once, and asked for again when it failed',
  );
  const lower = plan.missing.filter((blob) => blob.digest < 'sha256:8').length;
  assert.equal(read.filter((label) => label === 'peer').length, lower);
  assert.equal(read.filter((label) => label === 'source').length, plan.missing.length - lower);
});

test('a copy that waits for another node stops when it is told to, and asks it no more', async (t) => {
  const { store, content, bundle } = await opened(t);
  const plan = await planCopy(content, await openStore(store), bundle);
  const stop = new AbortController();
  let askedAfter = 0;
  const outcome = await runCopy(plan, {
    signal: stop.signal,
    clock: systemClock,
    elsewhere: async () => {
      if (stop.signal.aborted) askedAfter += 1;
      setImmediate(() => stop.abort());
      return askedAfter > 100 ? undefined : 'later';
    },
  });
  assert.deepEqual([outcome.outcome, askedAfter], ['Stopped', 0]);
});

test('C24 what has come already is not asked of the disk again', async (t) => {
  const { content, held, bundle, largest } = await interrupted(t, Buffer.alloc(1_000_000));
  const plan = await planCopy(content, held, bundle);
  assert.equal(plan.bytesArrived, 1_000_000);
  const need = spaceNeeded(
    { bytes: plan.bytesMissing - 1_000_000, blobs: plan.missing.length },
    { bytesTotal: 0 },
  );
  requireSpace(plan, { bytesFree: need.bytes, bytesTotal: 0, inodesFree: 0 });
  await held.dropPartials([largest.digest]);
  assert.equal(await held.partialBytes([largest.digest]), 0);
});
