import { open, stat } from 'node:fs/promises';

/** core/v1 PodLogOptions, as far as they concern one file. */
export interface LogOptions {
  readonly follow?: boolean;
  readonly tailLines?: number;
  /** Unix milliseconds; older lines are left out. */
  readonly since?: number;
  readonly timestamps?: boolean;
  readonly limitBytes?: number;
}

export interface LogEntry {
  readonly time: string;
  readonly stream: string;
  /** Whether the line ends here. */
  readonly full: boolean;
  readonly text: string;
}

const readBytes = 64 * 1024;
const followMs = 100;
/** Of one line in the file; longer ones are cut by whoever wrote it. */
const lineBytesMax = 1024 * 1024;

/** One line of a log file in the format of the container runtime interface; undefined for one that is none. */
export function parseEntry(line: string): LogEntry | undefined {
  const match = /^(\S+) (stdout|stderr) ([FP])(?::\S*)? ?(.*)$/s.exec(line);
  if (match === null) return undefined;
  const [, time = '', stream = '', tag, text = ''] = match;
  return { time, stream, full: tag === 'F', text };
}

/**
 * The text of a container's log, piece by piece; ends at the end of the file, or with `follow` when `isRunning`
 * says that nothing more comes.
 */
export async function* readLog(
  path: string,
  options: LogOptions,
  isRunning: () => boolean,
  signal: AbortSignal,
): AsyncGenerator<string> {
  let left = options.limitBytes ?? Number.POSITIVE_INFINITY;
  let atLineStart = true;
  const render = (entry: LogEntry): string => {
    const time = options.timestamps === true && atLineStart ? `${entry.time} ` : '';
    atLineStart = entry.full;
    return `${time}${entry.text}${entry.full ? '\n' : ''}`;
  };
  const tail: LogEntry[] = [];
  let lines = 0;
  let skipping = options.tailLines !== undefined;
  const cursor: Cursor = { path, offset: 0, rest: Buffer.alloc(0) };
  for await (const entry of entriesOf(`${path}.1`)) {
    if (options.since !== undefined && Date.parse(entry.time) < options.since) continue;
    if (skipping) lines = keepTail(tail, entry, lines, options.tailLines ?? 0);
    else yield* limited(render(entry));
  }
  for (;;) {
    const alive = options.follow === true && isRunning();
    for await (const entry of advance(cursor)) {
      if (options.since !== undefined && Date.parse(entry.time) < options.since) continue;
      if (skipping) lines = keepTail(tail, entry, lines, options.tailLines ?? 0);
      else {
        yield* limited(render(entry));
        if (left <= 0) return;
      }
    }
    if (skipping) {
      skipping = false;
      for (const entry of tail.splice(0)) yield* limited(render(entry));
      if (left <= 0) return;
    }
    // One more look after the container has ended: its last words may have come meanwhile.
    if (!alive || signal.aborted) return;
    await new Promise((resolve) => setTimeout(resolve, followMs));
  }

  function* limited(text: string): Generator<string> {
    const bytes = Buffer.byteLength(text);
    if (bytes <= left) yield text;
    else yield Buffer.from(text).subarray(0, left).toString('utf8');
    left -= Math.min(left, bytes);
  }
}

/** Keeps the last `wanted` lines; returns how many whole lines are kept. */
function keepTail(tail: LogEntry[], entry: LogEntry, lines: number, wanted: number): number {
  tail.push(entry);
  let kept = lines + (entry.full ? 1 : 0);
  const open = entry.full ? 0 : 1;
  while (kept + open > wanted && tail.length > 0) {
    if (tail.shift()?.full === true) kept -= 1;
  }
  return kept;
}

interface Cursor {
  readonly path: string;
  offset: number;
  inode?: number;
  rest: Buffer;
}

async function* entriesOf(path: string): AsyncGenerator<LogEntry> {
  yield* advance({ path, offset: 0, rest: Buffer.alloc(0) });
}

/** The entries after the cursor. A file that was replaced or cut is read from its beginning. */
async function* advance(cursor: Cursor): AsyncGenerator<LogEntry> {
  const facts = await stat(cursor.path).catch(() => undefined);
  if (facts === undefined) return;
  if (cursor.inode !== undefined && (cursor.inode !== facts.ino || facts.size < cursor.offset)) {
    cursor.offset = 0;
    cursor.rest = Buffer.alloc(0);
  }
  cursor.inode = facts.ino;
  if (facts.size <= cursor.offset) return;
  const handle = await open(cursor.path, 'r').catch(() => undefined);
  if (handle === undefined) return;
  try {
    for (;;) {
      const { bytesRead, buffer } = await handle.read(Buffer.alloc(readBytes), 0, readBytes, cursor.offset);
      if (bytesRead === 0) return;
      cursor.offset += bytesRead;
      let data = Buffer.concat([cursor.rest, buffer.subarray(0, bytesRead)]);
      for (let end = data.indexOf(0x0a); end >= 0; end = data.indexOf(0x0a)) {
        const entry = parseEntry(data.subarray(0, end).toString('utf8'));
        if (entry !== undefined) yield entry;
        data = data.subarray(end + 1);
      }
      cursor.rest = data.length > lineBytesMax ? Buffer.alloc(0) : Buffer.from(data);
    }
  } finally {
    await handle.close();
  }
}

/** The end of a log as the last words of a container that left none (FallbackToLogsOnError). */
export async function logTail(path: string, linesMax: number, bytesMax: number): Promise<string> {
  let text = '';
  const never = new AbortController().signal;
  for await (const piece of readLog(path, { tailLines: linesMax }, () => false, never)) text += piece;
  const bytes = Buffer.from(text);
  return bytes.length <= bytesMax ? text : bytes.subarray(bytes.length - bytesMax).toString('utf8');
}
