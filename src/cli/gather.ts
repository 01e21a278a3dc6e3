import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { Command } from 'commander';
import { SluiceError } from '../errors/error.ts';
import { parseDuration } from '../gates/duration.ts';
import { counted } from '../observe/count.ts';
import { type ConnectOptions, connect, withConnection } from './connect.ts';
import { formatFlag, formatHelp, humanBytes, note, parseFormat, print, printObject } from './output.ts';

interface GatherCommandOptions extends ConnectOptions {
  readonly out?: string;
  readonly maxSize: string;
  readonly since: string;
  readonly dir?: string;
  readonly output?: string;
}

/** `sluice gather`. */
export function command(): Command {
  return withConnection(
    new Command().description('Collect what support needs to see into one archive, without secrets'),
  )
    .option('--out <file>', 'where it is written (default: sluice-gather-TIME.tar.gz here)')
    .option('--max-size <size>', 'text that it may hold at the most: 50M, 1G', '200M')
    .option('--since <duration>', "how far back this host's journal is read", '24h')
    .option('--dir <dir>', 'the directory of a cluster of sluice up: its logs, its nodes')
    .option(formatFlag, formatHelp)
    .addHelpText(
      'after',
      `
Objects, events and logs of the cluster, what the agents of this host say, its configuration, its journal and its
tools. Of Secrets there are only names and sizes, and their values are taken out of everything else; so is what has
the form of a private key, a token or a password. It works without the API too, with what this host has.

Examples:
  sluice gather
  sluice gather --out /media/usb/site-7.tar.gz --since 72h
  sluice gather --dir ./rehearsal --kubeconfig ./rehearsal/kubeconfig`,
    )
    .action(collect);
}

async function collect(options: GatherCommandOptions): Promise<void> {
  const format = parseFormat(options.output);
  const { gather } = await import('../gather/gather.ts');
  const { configDirectories } = await import('../finalize/config.ts');
  const { parseSplitSize } = await import('../build/split.ts');
  const { systemClock } = await import('../observe/clock.ts');
  const time = new Date().toISOString().slice(0, 19).replaceAll(/[-:]/g, '');
  const out = resolve(options.out ?? `sluice-gather-${time}.tar.gz`);
  if (existsSync(out))
    throw new SluiceError('Conflict', `${out} exists already`, { next: 'Name another file.' });
  let told = Date.now();
  const gathered = await gather({
    out,
    bytesMax: parseSplitSize(options.maxSize),
    connect: () => connect(options),
    places: {
      runDirs: ['/run/sluice'].filter((directory) => existsSync(`${directory}/node.sock`)),
      configDirs: configDirectories,
      since: `-${Math.round(parseDuration(options.since) / 1000)}s`,
      ...(options.dir === undefined ? {} : { upDir: resolve(options.dir) }),
    },
    clock: systemClock,
    onProgress({ files, bytes, path }) {
      if (Date.now() - told < 2_000) return;
      told = Date.now();
      note(`${counted(files, 'file')}, ${humanBytes(bytes)}: ${path}`);
    },
  });
  for (const { what, why } of gathered.misses) note(`not there: ${what}: ${why}`);
  if (format === 'json' || format === 'yaml') return await printObject(gathered, format);
  print(`${gathered.out}: ${counted(gathered.files, 'file')}, ${humanBytes(gathered.bytes)} of text`);
  note(
    'Secrets were taken out. Look through it before you give it away: names and addresses of the site are in it.',
  );
}
