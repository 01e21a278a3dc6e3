import { isDeepStrictEqual } from 'node:util';
import { note, paint, parseFormat, print, printObject, printTable } from './output.ts';
import { hostConfigNote, upOfMachine } from './up-directory.ts';

/** `sluice node config`: what is in force, where it was said, and what has no effect. */
export async function config(options: {
  readonly configDir: readonly string[];
  readonly output?: string;
}): Promise<void> {
  const format = parseFormat(options.output);
  const { configDirectories } = await import('../finalize/config.ts');
  if (isDeepStrictEqual(options.configDir, [...configDirectories])) {
    note(hostConfigNote(upOfMachine(process.env)));
  }
  const { loadConfig } = await import('../finalize/config-files.ts');
  const directories = options.configDir;
  const { defaultsInForce } = await import('../finalize/config-values.ts');
  const loaded = await loadConfig(directories);
  const { values } = loaded;
  if (format === 'json' || format === 'yaml') await printObject({ directories, ...loaded }, format);
  else if (format === 'name') print([...new Set(values.map(({ path }) => path))].join('\n'));
  else {
    const { config: rule } = loaded;
    print(
      `${paint('bold', 'strategy')}  ${rule.strategies.join(' and ')}${rule.enabled ? '' : ' (updates are disabled)'}, mode ${rule.mode}`,
    );
    printTable(
      ['KEY', 'VALUE', 'FROM'],
      [
        ...values.map(({ key, value, path, line }) => [
          key,
          JSON.stringify(value),
          line === 0 ? path : `${path}:${line}`,
        ]),
        ...defaultsInForce(loaded).map(({ key, value }) => [key, JSON.stringify(value), 'default']),
      ],
    );
    for (const warning of loaded.warnings) note(`warning: ${warning}`);
    for (const problem of loaded.problems) note(`error: ${problem}`);
  }
  if (loaded.problems.length > 0) {
    note('nothing is finalized until this is mended');
    process.exitCode = 1;
  }
}
