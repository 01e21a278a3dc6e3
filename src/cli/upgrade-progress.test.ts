import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createStepView, stepOf } from './upgrade-progress.ts';

const messages = [
  'Working towards 1.1.0: 4 of 16 done (25% complete), waiting on Deployment demo/operator (0 of 1 updated)',
  'Working towards 1.1.0: 13 of 16 done (81% complete), waiting on 3 nodes that are held: marker_file (m0, m1, m2)',
  'Working towards 1.1.0: 11 of 16 done (68% complete), waiting on Deployment demo/operator (0 of 1 updated)',
  'Unable to apply 1.1.0: cluster operator demo to be available\n(Down)',
  'Working towards 1.1.0: 16 of 16 done (100% complete)',
];

test('numbers and words are told apart', () => {
  assert.deepEqual(stepOf('1.1.0', messages[1] ?? ''), {
    label: '1.1.0',
    done: 13,
    total: 16,
    words: 'waiting on 3 nodes that are held: marker_file (m0, m1, m2)',
    next: 'sluice node why, sluice window open --all --until 2h',
  });
  assert.equal(stepOf('x', '1 node that is held: inhibitors (m0)').next, 'sluice node why');
  assert.deepEqual(stepOf('preflight', '2 of 9 checks done, waiting on A, B'), {
    label: 'preflight',
    done: 2,
    total: 9,
    words: 'waiting on A, B',
  });
  assert.deepEqual(stepOf('x', 'looking at\n 1.1.0'), { label: 'x', words: 'looking at 1.1.0' });
});

const plain = () => {
  const lines: string[] = [];
  const stream = { isTTY: false } as NodeJS.WriteStream;
  return { lines, view: createStepView({ stream, say: (line) => lines.push(line) }) };
};

test('elsewhere than on a terminal: one plain line a change, and never backwards', () => {
  const { lines, view } = plain();
  for (const message of messages) {
    view.show(stepOf('1.1.0', message));
    view.show(stepOf('1.1.0', message));
  }
  assert.deepEqual(lines, [
    '1.1.0: 25% (4 of 16), waiting on Deployment demo/operator (0 of 1 updated)',
    '1.1.0: 81% (13 of 16), waiting on 3 nodes that are held: marker_file (m0, m1, m2)\n  next: sluice node why, sluice window open --all --until 2h',
    '1.1.0: 81% (13 of 16), waiting on Deployment demo/operator (0 of 1 updated)',
    '1.1.0: 81% (13 of 16), Unable to apply 1.1.0: cluster operator demo to be available (Down)',
    '1.1.0: 100% (16 of 16)',
  ]);
});

test('another step begins anew', () => {
  const { lines, view } = plain();
  view.show({ label: 'preflight', done: 9, total: 10, words: '' });
  view.show({ label: '1.1.0', done: 1, total: 10, words: '' });
  assert.deepEqual(lines, ['preflight: 90% (9 of 10)', '1.1.0: 10% (1 of 10)']);
});

test('a terminal has a bar that is redrawn in place and fits its width', () => {
  let written = '';
  const stream = {
    isTTY: true,
    columns: 60,
    write: (text: string) => {
      written += text;
      return true;
    },
  } as unknown as NodeJS.WriteStream;
  const view = createStepView({ stream });
  for (const message of messages.slice(0, 3)) view.show(stepOf('1.1.0', message));
  view.end();
  const frames = written
    .split('\u001b[J')
    .map((frame) => frame.replace(/\[[23]A$/, '').replaceAll('\u001b', ''));
  assert.equal(frames.length, 3);
  assert.equal(
    frames[1],
    `1.1.0  ${'█'.repeat(29)}${'░'.repeat(7)}   81%  13 of 16\n  waiting on 3 nodes that are held: marker_file (m0, m1, m…\n  next: sluice node why, sluice window open --all --until …\n`,
  );
  assert.match(
    frames[2] ?? '',
    /81% {2}13 of 16\n {2}waiting on Deployment demo\/operator \(0 of 1 updated\)\n$/,
  );
  assert.ok(frames.every((frame) => frame.split('\n').every((line) => line.length < 60)));
});
