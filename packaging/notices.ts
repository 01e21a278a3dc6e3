import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { shippedText } from '../src/program/files.ts';

/** Licences under which a package may be part of the program; each is kept by shipping its text. */
const licences = new Set([
  'MIT',
  'ISC',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  '0BSD',
  'BlueOak-1.0.0',
]);
/** Those that ask for more than their text: the package stays a script of its own that can be exchanged. */
const exchangeable = new Map([['openpgp', 'LGPL-3.0+']]);

interface BundledPackage {
  readonly name: string;
  readonly version: string;
  readonly licence: string;
  readonly homepage: string;
  readonly text: string;
}

const head = `Sluice is under the Apache License 2.0 (file LICENSE). The single-file program holds the software below besides,
each under its own licence.

openpgp is under the GNU Lesser General Public License, version 3 or later. It is a script of its own in the program.
To use a changed one:

    sluice licences --extract DIR       writes the scripts and files of which the program consists
    DIR/program/js/openpgp-*.cjs        is openpgp: put your own in its place
    node DIR/program/js/main.cjs ...    is then Sluice with it, on any Node.js ${process.versions.node.split('.')[0]}

Its source is the npm package openpgp of the version below, and https://github.com/openpgpjs/openpgpjs.
`;

/**
 * What a person who is given the program has to be given with it: names, versions and licence texts of all that is in
 * it. Throws where a package has no text, or a licence that nobody has looked at yet.
 *
 * @param modules absolute paths of the modules that were bundled.
 * @param runtime directory of the Node package, which brings the licences of what Node is made of.
 */
export function noticesText(modules: readonly string[], runtime: string): string {
  const directories = new Set(modules.flatMap((path) => packageDirectory(path) ?? []));
  const packages = [...directories]
    .map(readPackage)
    .sort((a, b) => compareText(`${a.name} ${a.version}`, `${b.name} ${b.version}`));
  const rule = '='.repeat(80);
  const sections = packages.map(
    (each) =>
      `${rule}\n${each.name} ${each.version}   ${each.licence}\n${each.homepage}\n${rule}\n\n${each.text.trim()}\n`,
  );
  const node = readFileSync(join(runtime, 'LICENSE'), 'utf8').trim();
  const list = packages.map(
    ({ name, version, licence }) => `    ${`${name} ${version}`.padEnd(40)}${licence}`,
  );
  // Section 4(b) of the LGPL: its text refers to that of the GPL, which has to come along.
  const gpl = readFileSync(join(import.meta.dirname, 'GPL-3.0.txt'), 'utf8').trim();
  const console = shippedText('web/dist/.licences.md').trim();
  const others = [
    `${rule}\nWhat the web console is made of\n${rule}\n\n${console}\n`,
    `${rule}\nGNU General Public License, version 3, to which that of openpgp refers\n${rule}\n\n${gpl}\n`,
    `${rule}\nNode.js, and what it is made of\n${rule}\n\n${node}\n`,
  ];
  return [head, ...list, '', ...sections, ...others].join('\n');
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function packageDirectory(path: string): string | undefined {
  return /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0];
}

function readPackage(directory: string): BundledPackage {
  const read = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8')) as {
    name: string;
    version: string;
    license?: string;
    homepage?: string;
  };
  const {
    name,
    version,
    license: licence = 'none',
    homepage = `https://www.npmjs.com/package/${name}`,
  } = read;
  if (!licences.has(licence) && exchangeable.get(name) !== licence) {
    throw new Error(`${name} is under '${licence}', which nobody has looked at: packaging/notices.ts`);
  }
  const file = readdirSync(directory).find((each) => /^(licen[cs]e|copying)(\.|$)/i.test(each));
  const text = file === undefined ? licenceInReadme(directory) : readFileSync(join(directory, file), 'utf8');
  if (text === undefined) throw new Error(`${name} has no file with its licence: ${dirname(directory)}`);
  return { name, version, licence, homepage, text };
}

/** Some packages have their licence at the end of their README alone. */
function licenceInReadme(directory: string): string | undefined {
  const file = readdirSync(directory).find((each) => /^readme/i.test(each));
  if (file === undefined) return undefined;
  const text = readFileSync(join(directory, file), 'utf8');
  return /^#+\s*licen[cs]e\s*\n([\s\S]+)$/im.exec(text)?.[1];
}
