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

test('rules for classes that no script sets go, alone or in a list', () => {
  const css =
    '.pf-v6-theme-glass .pf-v6-c-a{x:1}.pf-v6-c-a,.pf-v6-c-b.pf-m-c{y:1}:root:where(.pf-v6-theme-dark,.pf-v6-theme-glass){z:1}';
  assert.equal(
    trimCss(css, ['"pf-v6-c-a"']),
    '.pf-v6-c-a{y:1}:root:where(.pf-v6-theme-dark,.pf-v6-theme-glass){z:1}',
  );
  const negated =
    '.pf-v6-c-a:not(.pf-m-never):is(.pf-m-one,.pf-m-two){x:1}@media print{.pf-v6-c-z{x:1}.k{x:1}}';
  assert.equal(
    trimCss(negated, ['pf-v6-c-a']),
    '.pf-v6-c-a:not(.pf-m-never):is(.pf-m-one,.pf-m-two){x:1}@media print{.k{x:1}}',
  );
});

test('other properties and rules are left alone', () => {
  const css = '@media (min-width:1px){.a{--own:1;color:var(--own)}}';
  assert.equal(trimCss(css, []), css);
});
