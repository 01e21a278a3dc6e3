import { scriptCacheSuffix } from '../src/program/files.ts';

/** Where the JavaScript of the program lies among the files inside it: two folders deep, as the source does. */
export const scriptFolder = 'program/js';
export const mainScript = 'main.cjs';

/** What stands around a script, as `require` knows it. The cache belongs to the text with it. */
export const wrapperHead = '(function (exports, require, module, __filename, __dirname) { ';
export const wrapperTail = '\n})';

/**
 * What a single-file program runs first: loads its scripts as they are asked for, so that a command holds in memory
 * what it needs alone. As text, since it is no module of the source.
 */
export const loaderSource = `'use strict';
const { getRawAsset } = require('node:sea');
const { Script } = require('node:vm');
const loaded = new Map();
function inside(name) {
  try {
    return Buffer.from(getRawAsset('${scriptFolder}/' + name));
  } catch {
    return undefined;
  }
}
function load(name) {
  const known = loaded.get(name);
  if (known !== undefined) return known.exports;
  const module = { exports: {} };
  loaded.set(name, module);
  const source = inside(name);
  if (source === undefined) throw new Error('the program has no script ' + name);
  const script = new Script(${JSON.stringify(wrapperHead)} + source.latin1Slice() + ${JSON.stringify(wrapperTail)}, {
    filename: 'sluice:' + name,
    // A cache of another engine or machine is passed over.
    cachedData: inside(name + '${scriptCacheSuffix}'),
  });
  const request = (id) => (id.startsWith('./') ? load(id.slice(2)) : require(id));
  script.runInThisContext()(module.exports, request, module, '/sluice/${scriptFolder}/' + name, '/sluice/${scriptFolder}');
  return module.exports;
}
load('${mainScript}');
`;
