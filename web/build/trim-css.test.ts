import assert from 'node:assert/strict';
import { test } from 'node:test';
import { trimCss } from './trim-css.ts';

test('what nothing uses goes, and then what only that used', () => {
  const css = ':root{--pf-a:var(--pf-b);--pf-b:var(--pf-c);--pf-c:1px;--pf-d:2px}.x{margin:var(--pf-d)}';
  assert.equal(trimCss(css, []), ':root{--pf-d:2px}.x{margin:var(--pf-d)}');
});

test('what scripts name stays, with what it names itself', () => {
  const css = ':root{--pf-a:var(--pf-b);--pf-b:1px;--pf-c:2px}';
  assert.equal(trimCss(css, ['style["--pf-a"]']), ':root{--pf-a:var(--pf-b);--pf-b:1px;}');
});

test('a property that only names itself is not used; strings do not end a declaration', () => {
  assert.equal(trimCss('.a{--pf-x:";}";color:red}.b{--pf-y:1}', []), '.a{color:red}');
});

test('other properties and rules are left alone', () => {
  const css = '@media (min-width:1px){.a{--own:1;color:var(--own)}}';
  assert.equal(trimCss(css, []), css);
});
