import { join } from 'node:path';
import { repository } from '../tests/tier.ts';
import { mainScript } from './loader.ts';

export interface Scripts {
  /** File name → JavaScript in ASCII, which the engine keeps at one byte a letter. */
  readonly texts: ReadonlyMap<string, string>;
  /** Absolute paths of the modules that are in them. */
  readonly modules: readonly string[];
}

/**
 * Bundles the command line and all that it loads: what every command needs in the main script, and the rest in
 * scripts that are loaded when they are asked for. Packages under a copyleft licence stay in scripts of their own, so
 * that they can be exchanged.
 */
export async function bundleScripts(): Promise<Scripts> {
  const { rolldown } = await import('rolldown');
  const build = await rolldown({
    input: join(repository, 'src', 'cli', 'main.ts'),
    platform: 'node',
    logLevel: 'warn',
    onLog(level, log) {
      // Loaded with its importer anyway: the source says how it wants it, whoever else does.
      if (log.code === 'INEFFECTIVE_DYNAMIC_IMPORT') return;
      // Any other warning here is a program that works from the checkout alone.
      throw new Error(`${level}: ${log.message}`);
    },
  });
  try {
    const { output } = await build.generate({
      format: 'cjs',
      dynamicImportInCjs: false,
      comments: { legal: true, annotation: false, jsdoc: false },
      entryFileNames: mainScript,
      chunkFileNames: '[name]-[hash].cjs',
      codeSplitting: { groups: [{ name: 'openpgp', test: /node_modules\/openpgp\// }] },
    });
    const texts = new Map<string, string>();
    const modules = new Set<string>();
    for (const file of output) {
      if (file.type !== 'chunk') throw new Error(`${file.fileName} is no script`);
      texts.set(file.fileName, asciiOf(file.code));
      for (const id of file.moduleIds) if (id.startsWith('/')) modules.add(id);
    }
    return { texts, modules: [...modules].sort() };
  } finally {
    await build.close();
  }
}

/** The same script in ASCII: escapes are what the letters are in strings, templates, expressions and names. */
function asciiOf(code: string): string {
  return code.replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
