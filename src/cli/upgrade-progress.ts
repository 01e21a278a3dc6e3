import { asCalled } from './called.ts';
import { note } from './output.ts';
import { bar } from './progress.ts';

/** How far something is, and what it waits for. */
export interface Step {
  /** What moves: `1.1.0`, `preflight of 1.1.0`. Another one begins anew. */
  readonly label: string;
  readonly done?: number;
  readonly total?: number;
  readonly words: string;
  /** What a person can do about what it waits for, where it waits for a person. */
  readonly next?: string;
}

/** What to do about nodes that are held, where words tell of such: nothing else would let them go on. */
export function heldNext(words: string): string | undefined {
  const held = /\bnodes? that (?:is|are) held: (.*)/.exec(words)?.[1];
  if (held === undefined) return undefined;
  const window = /\bmarker_file\b/.test(held) ? ', sluice window open --all --until 2h' : '';
  return `sluice node why${window}`;
}

/**
 * The step that a message of the cluster tells: `Working towards 1.1.0: 13 of 16 done (81% complete), waiting on …`,
 * `3 of 8 checks done, waiting on …`. Where it tells no numbers, all of it are words. Pure.
 */
export function stepOf(label: string, message: string): Step {
  const text = message.replace(/\s*\n\s*/g, ' ');
  const counts = /(\d{1,6}) of (\d{1,6}) (?:checks )?done(?: \(\d+% complete\))?(?:, )?/.exec(text);
  const next = heldNext(text);
  const said = { label, ...(next === undefined ? {} : { next }) };
  if (counts === null) return { ...said, words: text };
  const words = text.slice(counts.index + counts[0].length);
  return { ...said, done: Number(counts[1]), total: Number(counts[2]), words };
}

export interface StepView {
  show(step: Step): void;
  /** Leaves the last state on the screen. */
  end(): void;
}

/**
 * Shows one step after another on standard error: a bar that is redrawn on a terminal, elsewhere a plain line for each
 * change. What is told of one step never runs backwards: a part that must be waited for again is told in words.
 */
export function createStepView(
  options: { stream?: NodeJS.WriteStream; say?: (line: string) => void } = {},
): StepView {
  const stream = options.stream ?? process.stderr;
  const say = options.say ?? note;
  let best: Step | undefined;
  let told = '';
  let drawn = 0;
  return {
    show(step) {
      best = furthest(best, step);
      if (stream.isTTY) {
        const lines = barLines(toldOf(best, step), stream.columns ?? 80);
        // What is below goes too: a step with a next one has a line more than others.
        const up = drawn > 0 ? `\u001b[${drawn}A\u001b[J` : '';
        stream.write(up + lines.map((line) => `${line}\n`).join(''));
        drawn = lines.length;
        return;
      }
      const line = plainLine(toldOf(best, step));
      if (line !== told) say(line);
      told = line;
    },
    end() {
      drawn = 0;
      best = undefined;
    },
  };
}

/** The furthest numbers with the words of now. */
function toldOf({ label, done, total }: Step, { words, next }: Step): Step {
  return {
    label,
    words,
    ...(done === undefined ? {} : { done }),
    ...(total === undefined ? {} : { total }),
    ...(next === undefined ? {} : { next }),
  };
}

function furthest(best: Step | undefined, step: Step): Step {
  if (best === undefined || best.label !== step.label || best.total === undefined) return step;
  if (step.total === undefined) return best;
  return shareOf(step) >= shareOf(best) ? step : best;
}

function shareOf({ done = 0, total = 0 }: Step): number {
  return total === 0 ? 0 : done / total;
}

function plainLine({ label, done, total, words, next }: Step): string {
  const far = total === undefined ? '' : ` ${percent(done, total)} (${done} of ${total})`;
  return `${label}:${far}${far !== '' && words !== '' ? ',' : ''}${words === '' ? '' : ` ${words}`}${next === undefined ? '' : `\n  next: ${next}`}`;
}

function barLines(step: Step, columns: number): string[] {
  const { label, done = 0, total, words, next } = step;
  const text = total === undefined ? '' : `${percent(done, total).padStart(4)}  ${done} of ${total}`;
  const width = Math.max(10, Math.min(40, columns - label.length - text.length - 5));
  const first = `${label}  ${bar(shareOf(step), width)}  ${text}`.trimEnd();
  const lines = [first, `  ${words}`, ...(next === undefined ? [] : [asCalled(`  next: ${next}`)])];
  return lines.map((line) => (line.length < columns ? line : `${line.slice(0, columns - 2)}…`));
}

function percent(done = 0, total = 0): string {
  return `${total === 0 ? 0 : Math.floor((done / total) * 100)}%`;
}
