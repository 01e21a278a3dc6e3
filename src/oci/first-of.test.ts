import assert from 'node:assert/strict';
import { test } from 'node:test';
import { imageOf } from '../../tests/content.ts';
import { SluiceError } from '../errors/error.ts';
import { referrersTag } from './digest.ts';
import { firstOf, type OpenEndpoint } from './first-of.ts';
import type { Endpoint } from './registries-conf.ts';
import type { ContentSource } from './source.ts';

const image = imageOf([Buffer.from('x')]);
const signature = `${referrersTag(image.raw.digest)}.sig`;

interface Played extends OpenEndpoint {
  readonly asked: string[];
}

/** A place that has the image, or says no, or fails. */
function place(
  name: string,
  says: 'has' | 'no' | 'Unreachable' | 'Unauthorized',
  pulls: Endpoint['pulls'] = 'all',
): Played {
  const asked: string[] = [];
  const content: ContentSource = {
    label: name,
    async manifest(repository, reference) {
      asked.push(
        `${repository} ${reference === signature ? 'signature' : reference === 'tag' ? 'tag' : 'digest'}`,
      );
      if (says === 'Unreachable' || says === 'Unauthorized') throw new SluiceError(says, `${name} fails`);
      return says === 'has' && reference !== signature ? image.raw : undefined;
    },
    blob: async () => undefined,
    tags: async () => [],
    referrers: async () => [],
  };
  return { endpoint: { host: name, repository: `at-${name}`, insecure: false, pulls }, content, asked };
}

const clock = { now: () => 0 };

test('the first that has it answers, each asked under its own name', async () => {
  const places = [place('a', 'no'), place('b', 'has'), place('c', 'has')];
  const source = firstOf('x', places, clock);
  assert.equal((await source.manifest('any', 'tag'))?.digest, image.raw.digest);
  assert.deepEqual(
    places.map((each) => each.asked),
    [['at-a tag'], ['at-b tag'], []],
  );
});

test('S2 a place that gave the image says for sure that it has no signature; before that, a failure is none', async () => {
  const source = firstOf('x', [place('mirror', 'has'), place('origin', 'Unreachable')], clock);
  await assert.rejects(firstOf('x', [place('mirror', 'Unreachable')], clock).manifest('any', signature), {
    code: 'Unreachable',
  });
  await source.manifest('any', image.raw.digest);
  assert.equal(await source.manifest('any', signature), undefined);
  const refused = firstOf('x', [place('a', 'Unauthorized'), place('b', 'Unreachable')], clock);
  await assert.rejects(refused.manifest('any', 'tag'), {
    message: /x was found nowhere: a fails; b fails/,
    next: /registries\.conf/,
  });
});

test('S2 while the place that gave the image does not answer, nobody else says that it has no signature', async () => {
  const origin = place('origin', 'has');
  let isDown = false;
  const content: ContentSource = {
    ...origin.content,
    async manifest(repository, reference) {
      if (isDown) throw new SluiceError('Unreachable', 'origin fails');
      return await origin.content.manifest(repository, reference);
    },
  };
  const source = firstOf('x', [place('mirror', 'no'), { ...origin, content }], clock);
  await source.manifest('any', image.raw.digest);
  assert.equal(await source.manifest('any', signature), undefined);
  isDown = true;
  // The second time it is known that it does not answer.
  for (let time = 0; time < 2; time += 1)
    await assert.rejects(source.manifest('any', signature), { code: 'Unreachable', message: /origin fails/ });
});

test('P10 a place that does not answer is left out for a while, and then asked again', async () => {
  let now = 0;
  const dead = place('dead', 'Unreachable');
  const source = firstOf('x', [dead, place('alive', 'no')], { now: () => now });
  for (let time = 0; time < 3; time += 1) await source.manifest('any', 'tag');
  assert.equal(dead.asked.length, 1);
  now = 61_000;
  await source.manifest('any', 'tag');
  assert.equal(dead.asked.length, 2);
});

test('mirrors for digests are not asked for tags, but for signatures, whose tags are made of a digest', async () => {
  const places = [
    place('digests', 'no', 'digest-only'),
    place('tags', 'no', 'tag-only'),
    place('origin', 'no'),
  ];
  const source = firstOf('x', places, clock);
  await source.manifest('any', 'tag');
  await source.manifest('any', image.raw.digest);
  await source.manifest('any', signature);
  assert.deepEqual(
    places.map((each) => each.asked.map((line) => line.split(' ')[1])),
    [['digest', 'signature'], ['tag'], ['tag', 'digest', 'signature']],
  );
});
