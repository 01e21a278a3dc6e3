import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { styleText } from 'node:util';
import { SluiceError } from '../src/errors/error.ts';
import { shellWord } from '../src/process/shell.ts';

/** The repository's own root. */
export const root = join(import.meta.dirname, '..');

/** Where words for the person go: standard error where standard output carries the JSON line. */
export interface Teller {
  readonly json: boolean;
  readonly stream: NodeJS.WriteStream;
  heading(text: string): void;
  say(text: string): void;
}

export function createTeller(json: boolean): Teller {
  const stream = json ? process.stderr : process.stdout;
  let stage = 0;
  const startedAt = Date.now();
  return {
    json,
    stream,
    heading(text) {
      stage += 1;
      const seconds = `${((Date.now() - startedAt) / 1000).toFixed(0)} s`;
      stream.write(
        `\n${styleText('bold', `${stage}. ${text}`, { stream })} ${styleText('gray', seconds, { stream })}\n`,
      );
    },
    say: (text) => void stream.write(`   ${text}\n`),
  };
}

export interface CommandResult {
  readonly code: number;
  readonly stdout: string;
}

/** How a command of the demo is shown and what it may end with. */
export interface CommandOptions {
  /** Exit codes that are no failure here. Default [0]. */
  readonly expect?: readonly number[];
  /** Collect standard output instead of showing it. */
  readonly quiet?: boolean;
  readonly env?: NodeJS.ProcessEnv;
}

export interface Shell {
  /** Runs `sluice WORDS…` as a person would, showing the line and what it prints. */
  sluice(words: readonly string[], options?: CommandOptions): Promise<CommandResult>;
  kubectl(words: readonly string[], options?: CommandOptions): Promise<CommandResult>;
}

export function createShell(
  teller: Teller,
  program: string,
  signal: AbortSignal,
  env: () => NodeJS.ProcessEnv,
): Shell {
  const runShown = async (
    file: string,
    shownAs: string,
    words: readonly string[],
    options: CommandOptions = {},
  ): Promise<CommandResult> => {
    const { quiet = false, expect = [0] } = options;
    if (!quiet)
      teller.stream.write(
        `   ${styleText('cyan', commandLine(shownAs, words), { stream: teller.stream })}\n`,
      );
    const terminal = teller.stream.isTTY && !quiet;
    const child = spawn(file, words, {
      cwd: root,
      env: { ...process.env, SLUICE_PROGRAM: shownProgram(program), ...env(), ...options.env },
      stdio: ['ignore', terminal && !teller.json ? 'inherit' : 'pipe', terminal ? 'inherit' : 'pipe'],
      signal,
    });
    let stdout = '';
    const show = (chunk: Buffer) => quiet || teller.stream.write(String(chunk).replace(/^(?=.)/gm, '   '));
    let hidden = '';
    child.stdout?.on('data', (chunk: Buffer) => {
      stdout += chunk;
      show(chunk);
    });
    child.stderr?.on('data', (chunk: Buffer) => {
      hidden += chunk;
      show(chunk);
    });
    const code = await new Promise<number>((resolve, reject) => {
      child.on('error', reject);
      child.on('close', (exit) => resolve(exit ?? 1));
    });
    if (expect.includes(code)) return { code, stdout };
    const said = (quiet ? hidden || stdout : '').trim();
    throw new SluiceError(
      'CommandFailed',
      `${[shownAs, ...words].map(shellWord).join(' ')} ended with ${code}${said === '' ? '' : `: ${said}`}`,
    );
  };
  return {
    sluice: (words, options) => runShown(program, shownProgram(program), words, options),
    kubectl: (words, options) => runShown('kubectl', 'kubectl', words, options),
  };
}

/** The program as a person in the clone would call it. */
export function shownProgram(program: string): string {
  return program.startsWith(`${root}/`) ? `./${shown(program)}` : program;
}

/** A path or words with paths as a person in the clone sees them. */
export function shown(text: string): string {
  return text.replaceAll(`${root}/`, '');
}

/** A command as a person would type it: paths from the clone, a line for each option where it is long. */
export function commandLine(program: string, words: readonly string[]): string {
  const typed = [program, ...words].map((word) => shellWord(shown(word)));
  const line = typed.join(' ');
  if (line.length <= lineMax) return `$ ${line}`;
  return `$ ${typed.reduce((text, word) => `${text}${/^'?(--|\S+=oci:)/.test(word) ? lineEnd : ' '}${word}`)}`;
}

const lineMax = 108;
const lineEnd = ' \\\n         ';

/** Where the demo has its place unless a person names another. */
export const usualPlace = join(root, '.quickstart');

/** How a person ends what runs in a place of the demo. */
export function stopCommand(directory: string): string {
  return `./quickstart --stop${directory === usualPlace ? '' : ` --dir ${shellWord(directory)}`}`;
}

/** An update of the history in one line; one that goes on has no end yet. */
export function historyLine(entry: {
  readonly version?: string;
  readonly state: string;
  readonly startedTime: string;
  readonly completionTime: string | null;
}): string {
  const { version, state, startedTime, completionTime } = entry;
  const when = completionTime === null ? `since ${startedTime}` : `${startedTime} – ${completionTime}`;
  return `${version ?? ''}  ${state}  ${when}`;
}
