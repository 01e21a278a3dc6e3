import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isPlaceholder, leftPlaceholder, substituteImages, substituteVersions } from './substitute.ts';

const spec = 'quay.io/openshift/origin-web';
const pull = `quay.io/openshift/origin-web@sha256:${'a'.repeat(64)}`;
const one = new Map([[spec, pull]]);

test('a pull spec is replaced where it stands alone, with no tag, a tag or a digest', () => {
  for (const suffix of ['', ':latest', ':v1.2-x_y', `@sha256:${'b'.repeat(64)}`]) {
    for (const [before, after] of [
      ['image: ', '\n'],
      ['"', '"'],
      ["'", "'"],
      ['--image=', ' '],
      ['docker://', '"'],
      ['', ''],
      ['[', ' ]'],
    ]) {
      assert.equal(substituteImages(`${before}${spec}${suffix}${after}`, one), `${before}${pull}${after}`);
    }
  }
});

test('a pull spec is replaced in every form that YAML has for it', () => {
  for (const suffix of ['', ':latest', `@sha256:${'b'.repeat(64)}`]) {
    for (const form of [
      'image: #\n',
      'image: # # a comment\n',
      'image: "#"\n',
      "image: '#' # a comment\n",
      'spec: {containers: [{name: x, image: #}]}\n',
      'spec: {containers: [{name: x, image: #, tty: true}]}\n',
      'spec: {containers: [{image: #,tty: true}]}\n',
      'spec: {containers: [{name: x, image: # }]}\n',
      'spec: {containers: [{name: x, image: "#"}]}\n',
      "spec: {containers: [{name: x, image: '#'}, {image: #}]}\n",
      'spec: {containers: [{name: x, image: #}]} # a comment\n',
      'spec:\n  containers: [{name: "a, b}", image: #\n  }]\n',
      'args: [#, --image=#, "--image=#", #]\n',
      'args: [--image=#]\n',
      'env: [{name: IMAGE, value: #}, {name: OTHER, value: "#"}]\n',
      'env:\n- {name: IMAGE, value: #}\n- name: OTHER\n  value: #\n',
      '---\na: "}"\n---\n{image: #}\n',
      '{"image":"#"}',
      '\ufeffa: {image: #}\r\nb: |\n  {x}\nc: {image: #}\r\n',
    ]) {
      assert.equal(
        substituteImages(form.replaceAll(/#(?! )|#(?= [#}])/g, spec + suffix), one),
        form.replaceAll(/#(?! )|#(?= [#}])/g, pull),
        form,
      );
    }
  }
});

test('what only resembles a pull spec is left alone', () => {
  for (const text of [
    `image: ${spec}-extra`,
    `image: ${spec}/below`,
    `image: mirror.example/${spec}`,
    `image: my-${spec}`,
    `image: x${spec}`,
    `image: ${spec},other`,
    `image: ${spec}}`,
    `args: ["--images=${spec},other", '${spec}]']`,
    `text: |\n  {image: ${spec}}\n`,
    `a: 1 # {image: ${spec}}\n`,
    `image: ${spec}@md5:`,
    'image: quay.io/openshift/origin-we',
    'image: quay-io/openshift/origin-web',
  ]) {
    assert.equal(substituteImages(text, one), text);
  }
});

test('the longer pull spec counts where two would fit', () => {
  const images = new Map([
    ['h.example/ns', 'NS'],
    ['h.example/ns:web', 'WEB'],
    ['h.example/ns:web-extra', 'EXTRA'],
  ]);
  assert.equal(
    substituteImages('h.example/ns:web h.example/ns:web-extra h.example/ns:other h.example/ns', images),
    'WEB EXTRA NS NS',
  );
});

test('specs one after the other are all replaced', () => {
  assert.equal(substituteImages(`${spec} ${spec}:x\n${spec}`, one), `${pull} ${pull}\n${pull}`);
});

test('substitution is done once: what it wrote is not substituted again', () => {
  const word = fc.stringMatching(/^[a-z]{1,8}$/);
  fc.assert(
    fc.property(
      fc.array(word, { minLength: 1, maxLength: 6 }),
      fc.array(word, { maxLength: 20 }),
      (names, words) => {
        const images = new Map(names.map((name, index) => [name, names[(index + 1) % names.length] ?? name]));
        const expected = words.map((each) => images.get(each) ?? each).join(' ');
        assert.equal(substituteImages(words.join(' '), images), expected);
      },
    ),
  );
});

test('versions of the release and of components are filled in', () => {
  const components = new Map([['kubernetes', '1.35.2']]);
  const fill = (text: string) => substituteVersions(text, '1.1.0+build', components, 'file');
  assert.equal(fill('version: 0.0.1-snapshot\n"0.0.1-snapshot"'), 'version: 1.1.0\n"1.1.0"');
  assert.equal(fill('--x=0.0.1-snapshot-kubernetes,y'), '--x=1.35.2,y');
  assert.equal(fill('10.0.0.1-snapshot 0.0.1-snapshots'), '10.0.0.1-snapshot 0.0.1-snapshots');
});

test('an unknown, a missing and an ambiguous component are refused with the file named', () => {
  const components = new Map([['etcd', undefined]]);
  for (const [text, message] of [
    ['0.0.1-snapshot-other', /file: .*no image says a version of other/],
    ['0.0.1-snapshot- ', /names no component/],
    ['0.0.1-snapshot-etcd', /different versions of etcd/],
  ] as const) {
    assert.throws(() => substituteVersions(text, '1.0.0', components, 'file'), {
      code: 'ReferenceUnresolved',
      message,
    });
  }
});

test('placeholders are known as such, and found where one is left', () => {
  const left = 'placeholder.url.oc.will.replace.this.org/placeholdernamespace:web';
  assert.ok(isPlaceholder(left));
  assert.ok(!isPlaceholder(spec));
  assert.equal(leftPlaceholder(`image: "${left}"`), left);
  assert.equal(leftPlaceholder('image: x'), undefined);
});
