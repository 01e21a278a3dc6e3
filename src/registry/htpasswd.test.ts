import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hashSync } from 'bcryptjs';
import { parseHtpasswd } from './htpasswd.ts';

test('bcrypt lines are taken, also two for one name; others are told by number', () => {
  const hash = hashSync('x', 4);
  const skipped: number[] = [];
  const text = `# comment\nopenshift:${hash}\n\nopenshift:${hash.replace('$2b$', '$2y$')}\nplain:secret\nmd5:$apr1$a$b\ndear:${hash.replace('$04$', '$31$')}\n${':'.repeat(9)}`;
  const entries = parseHtpasswd(text, (line) => skipped.push(line));
  assert.deepEqual(
    entries.map(({ user }) => user),
    ['openshift', 'openshift'],
  );
  assert.deepEqual(skipped, [5, 6, 7, 8]);
});
