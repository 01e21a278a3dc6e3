import { globSync } from 'node:fs';
import { join, relative } from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { repository } from './tier.ts';

/** Milliseconds that one file of tests may take; the sweeps that kill at every write are the longest. */
const fileMsMax = 15 * 60_000;

/** Files that are named at the end with the time that they took: where a suite that grows has to be mended. */
const longestShown = 15;

/** Runs files of tests and prints what they say, and which took longest. Resolves to the files that failed. */
async function runFiles(files: readonly string[], concurrency: number): Promise<string[]> {
  const failed = new Set<string>();
  const stream = run({ files: [...files], concurrency, timeout: fileMsMax });
  const took: { file: string; ms: number }[] = [];
  stream.on('test:summary', ({ file, success, duration_ms: ms }) => {
    if (file === undefined) return;
    took.push({ file, ms });
    if (!success) failed.add(file);
  });
  // A file that ends without a summary, because it was killed for instance, is told by its name.
  stream.on('test:fail', ({ name, nesting }) => {
    const path = files.find((file) => file === name || relative(repository, file) === name);
    if (nesting === 0 && path !== undefined) failed.add(path);
  });
  for await (const text of stream.compose(new spec())) process.stdout.write(text);
  const longest = took.sort((a, b) => b.ms - a.ms).slice(0, longestShown);
  const lines = longest.map(
    ({ file, ms }) => `  ${(ms / 1000).toFixed(0).padStart(4)} s  ${relative(repository, file)}`,
  );
  process.stdout.write(`\n== took longest:\n${lines.join('\n')}\n`);
  return [...failed].sort();
}

/**
 * Every test, two files at a time. A file that fails is run once more, alone: many of these tests start clusters, and
 * a machine that is too busy is no fault of the product. What fails alone fails; what then passes is named, since a
 * test that depends on the machine's pace is to be mended.
 */
async function main(): Promise<number> {
  const files = globSync('{src,tests,web,packaging,demo,bench}/**/*.test.ts', { cwd: repository })
    .map((file) => join(repository, file))
    .sort();
  const failed = await runFiles(files, 2);
  if (failed.length === 0) return 0;
  const names = failed.map((file) => relative(repository, file)).join('\n  ');
  process.stdout.write(`\n== failed, and run once more alone:\n  ${names}\n`);
  const still = await runFiles(failed, 1);
  for (const file of failed) {
    const outcome = still.includes(file) ? 'failed again' : 'passed alone, to be mended';
    process.stdout.write(`${relative(repository, file)}: ${outcome}\n`);
  }
  return still.length === 0 ? 0 : 1;
}

process.exitCode = await main();
