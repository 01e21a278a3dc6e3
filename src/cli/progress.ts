import { humanBytes, humanDuration } from './output.ts';

export interface ProgressRow {
  /** What moves, for instance a node's name. */
  readonly label: string;
  readonly done: number;
  readonly total: number;
  /** Bytes a second, where known. */
  readonly rate?: number;
  /** A word instead of rate and time left: `waiting`, `verified`. */
  readonly state?: string;
}

export interface Progress {
  /** Shows the rows as they stand now. */
  update(rows: readonly ProgressRow[]): void;
  /** Leaves the last state on the screen and gives the line back. */
  end(): void;
}

/**
 * Progress on standard error: bars that redraw in place on a terminal; elsewhere one plain line a row, at most
 * every `plainIntervalMs` (default 5000) and when a row ends, so that a log stays readable.
 */
export function createProgress(
  options: { stream?: NodeJS.WriteStream; plainIntervalMs?: number; now?: () => number } = {},
): Progress {
  const stream = options.stream ?? process.stderr;
  const now = options.now ?? Date.now;
  if (!stream.isTTY) return plainProgress(stream, now, options.plainIntervalMs ?? 5000);
  let drawn = 0;
  const pace = createPace(now);
  return {
    update(rows) {
      const label = Math.max(...rows.map((row) => row.label.length), 0);
      const lines = rows.map((row) => barLine(row, facts(row, pace(row)), label, stream.columns ?? 80));
      stream.write(
        `${drawn > 0 ? `\u001b[${drawn}A` : ''}${lines.map((line) => `\u001b[2K${line}\n`).join('')}`,
      );
      drawn = lines.length;
    },
    end() {
      drawn = 0;
    },
  };
}

function plainProgress(stream: NodeJS.WriteStream, now: () => number, intervalMs: number): Progress {
  // Work that is over before the first interval says only that it is done.
  let last = now();
  const ended = new Set<string>();
  const pace = createPace(now);
  return {
    update(rows) {
      const due = now() - last >= intervalMs;
      for (const row of rows) {
        const settled = pace(row);
        const whole = row.total > 0 && row.done >= row.total;
        if (whole ? ended.has(row.label) : !due) continue;
        if (whole) ended.add(row.label);
        stream.write(`${row.label}: ${facts(row, settled)}\n`);
      }
      if (due) last = now();
    },
    end() {},
  };
}

/** Milliseconds for which a row is watched before its rate is believed. */
const settlingMs = 5000;
/** A rate below this share of the mean is that of a moment: of a start, or of the last bytes being made durable. */
const shareOfMeanMin = 0.01;

/** Tells of a row whether its rate bears a time that is left; it watches each from when it is first seen. */
function createPace(now: () => number): (row: ProgressRow) => boolean {
  const firsts = new Map<string, { readonly at: number; readonly done: number }>();
  return ({ label, done, rate = 0 }) => {
    const first = firsts.get(label) ?? { at: now(), done };
    firsts.set(label, first);
    const spentMs = now() - first.at;
    if (spentMs < settlingMs) return false;
    return rate >= ((done - first.done) / spentMs) * 1000 * shareOfMeanMin;
  };
}

function barLine(row: ProgressRow, text: string, labelWidth: number, columns: number): string {
  const width = Math.max(10, Math.min(40, columns - labelWidth - text.length - 6));
  const share = row.total > 0 ? row.done / row.total : 0;
  return `${row.label.padEnd(labelWidth)}  ${bar(share, width)}  ${text}`;
}

/** A bar of so many columns, filled by a share from 0 to 1. */
export function bar(share: number, width: number): string {
  const filled = Math.floor(Math.max(0, Math.min(1, share)) * width);
  return '█'.repeat(filled) + '░'.repeat(width - filled);
}

function facts(row: ProgressRow, settled: boolean): string {
  const percent = row.total > 0 ? `${Math.floor((Math.min(row.done, row.total) / row.total) * 100)}%` : '–';
  const amount = `${percent.padStart(4)}  ${humanBytes(row.done)} of ${humanBytes(row.total)}`;
  if (row.state !== undefined) return `${amount}  ${row.state}`;
  if (row.rate === undefined || row.rate <= 0 || row.done >= row.total) return amount;
  if (!settled) return `${amount}  ${humanBytes(row.rate)}/s`;
  const left = ((row.total - row.done) / row.rate) * 1000;
  return `${amount}  ${humanBytes(row.rate)}/s  ${humanDuration(left)} left`;
}
