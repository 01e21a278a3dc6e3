import { existsSync } from 'node:fs';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { Command } from 'commander';
import { SluiceError } from '../errors/error.ts';
import { shellWord } from '../process/shell.ts';
import { isPackaged, noticesFile, packagedFiles, shippedFile, shippedText } from '../program/files.ts';
import { note, print } from './output.ts';

/** `sluice licences`. */
export function command(): Command {
  return new Command()
    .description('Print under which licences the program and all that is in it are')
    .option('--extract <dir>', 'write the scripts and files of which the single-file program consists')
    .addHelpText(
      'after',
      `
What --extract writes runs on any Node.js of the same major version, also after one of its scripts was exchanged:
openpgp is under the LGPL, and a script of its own.

Examples:
  sluice licences | less
  sluice licences --extract ./sluice-parts
  node ./sluice-parts/program/js/main.cjs --version`,
    )
    .action(licences);
}

async function licences({ extract }: { readonly extract?: string }): Promise<void> {
  if (extract === undefined) {
    print(shippedText(isPackaged ? noticesFile : 'LICENSE').trimEnd());
    if (!isPackaged) note('each package that it uses has its licence beside it, below node_modules/');
    return;
  }
  if (!isPackaged) {
    throw new SluiceError('Usage', 'this is a checkout: there is nothing to extract', {
      next: 'Its scripts are in src/ and node_modules/. To extract is for the single file (npm run package).',
    });
  }
  const target = resolve(extract);
  if (existsSync(target) && (await readdir(target)).length > 0) {
    throw new SluiceError('Conflict', `${target} is not empty`, { next: 'Name a new directory.' });
  }
  const files = packagedFiles();
  for (const path of files) {
    await mkdir(dirname(join(target, path)), { recursive: true });
    await writeFile(join(target, path), shippedFile(path));
  }
  note(
    `${files.length} files in ${target}; node ${shellWord(join(target, 'program', 'js', 'main.cjs'))} --help`,
  );
}
