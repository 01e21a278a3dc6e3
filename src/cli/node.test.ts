import assert from 'node:assert/strict';
import { test } from 'node:test';
import { configDirectories } from '../finalize/config.ts';
import { command } from './node.ts';

test('who runs by a configuration and who shows it read the same directories', () => {
  for (const name of ['run', 'config']) {
    const found = command().commands.find((each) => each.name() === name);
    const option = found?.options.find(({ long }) => long === '--config-dir');
    assert.deepEqual(option?.defaultValue, [...configDirectories], name);
    assert.equal(found?.parseOptions(['--config-dir', '/a', '/b']).unknown.length, 0);
    assert.deepEqual(found?.opts().configDir, ['/a', '/b'], `${name}: what is named replaces all of them`);
  }
});
