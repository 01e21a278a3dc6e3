import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { scopeTable } from './document.ts';

test('docs/embedded-api.md lists the scope as it is', () => {
  const path = join(import.meta.dirname, '..', '..', '..', 'docs', 'embedded-api.md');
  const page = readFileSync(path, 'utf8');
  const listed = page.split('\n').filter((line) => line.startsWith('| ') && line.split('|').length === 7);
  assert.deepEqual(
    listed,
    scopeTable()
      .split('\n')
      .filter((line) => !line.startsWith('|---')),
  );
});
