import { stripVTControlCharacters, styleText } from 'node:util';
import { SluiceError } from '../errors/error.ts';
import { asCalled } from './called.ts';

export const formats = ['table', 'wide', 'json', 'yaml', 'name'] as const;
export type Format = (typeof formats)[number];

/** The words for `-o`, as commander's option takes them. */
export const formatFlag = '-o, --output <format>';
export const formatHelp = 'table, wide, json, yaml or name';

/** Errors: Usage for a word that is no format. */
export function parseFormat(word: string | undefined): Format {
  if (word === undefined) return 'table';
  const format = formats.find((each) => each === word);
  if (format !== undefined) return format;
  throw new SluiceError('Usage', `-o ${word} is not a format`, { next: `Use one of: ${formatHelp}.` });
}

/** A format for the next program: what is done is told in it, and not in words besides. */
export function isData(format: Format): boolean {
  return format !== 'table' && format !== 'wide';
}

/** What was asked for: standard output. Commands in it are shown as the program was called. */
export function print(text: string): void {
  process.stdout.write(`${asCalled(text)}\n`);
}

/** Words for the person: standard error, so that they never mix into data. */
export function note(text: string): void {
  process.stderr.write(`${asCalled(text)}\n`);
}

/** Prints an object or a list of objects as JSON or YAML. */
export async function printObject(value: unknown, format: 'json' | 'yaml'): Promise<void> {
  // Data for the next program: nothing in it is changed.
  if (format === 'json') {
    process.stdout.write(`${JSON.stringify(value, null, 2)}\n`);
    return;
  }
  const { stringify } = await import('yaml');
  process.stdout.write(stringify(value));
}

/**
 * A table in kubectl's look: upper-case headings, columns parted by three spaces, no lines.
 * Cells may carry colours; widths count what is seen.
 */
export function renderTable(columns: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [columns, ...rows];
  const widths = columns.map((_, index) => Math.max(...all.map((row) => seenWidth(row[index] ?? ''))));
  return all
    .map((row) =>
      row
        .map((cell, index) =>
          index === row.length - 1 ? cell : cell + ' '.repeat((widths[index] ?? 0) - seenWidth(cell) + 3),
        )
        .join('')
        .trimEnd(),
    )
    .join('\n');
}

export function printTable(columns: readonly string[], rows: readonly (readonly string[])[]): void {
  print(renderTable(columns, rows));
}

const segmenter = new Intl.Segmenter();

function seenWidth(text: string): number {
  const plain = stripVTControlCharacters(text);
  if (/^[\x20-\x7e]*$/.test(plain)) return plain.length;
  let width = 0;
  for (const { segment } of segmenter.segment(plain)) width += isWide(segment) ? 2 : 1;
  return width;
}

function isWide(segment: string): boolean {
  const code = segment.codePointAt(0) ?? 0;
  return (
    (code >= 0x1100 && code <= 0x115f) ||
    (code >= 0x2e80 && code <= 0xffdc && !(code >= 0xd7a4 && code < 0xf900)) ||
    code >= 0x1f300
  );
}

export { humanBytes } from '../observe/bytes.ts';

export type Colour = 'green' | 'red' | 'yellow' | 'cyan' | 'gray' | 'bold';

/** Colours on a terminal only; NO_COLOR is honoured. */
export function paint(colour: Colour, text: string, stream: NodeJS.WriteStream = process.stdout): string {
  return styleText(colour, text, { stream });
}

/** A duration for a person, as kubectl shows ages: `45s`, `3m20s`, `2h5m`, `3d`. */
export function humanDuration(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 10) return `${minutes}m${seconds % 60 === 0 ? '' : `${seconds % 60}s`}`;
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return minutes % 60 === 0 || hours >= 8 ? `${hours}h` : `${hours}h${minutes % 60}m`;
  return `${Math.floor(hours / 24)}d`;
}
