import { note } from './output.ts';
import { bar } from './progress.ts';

/** How far something is, and what it waits for. */
export interface Step {
  /** What moves: `1.1.0`, `preflight of 1.1.0`. Another one begins anew. */
  readonly label: string;
  readonly done?: number;
  readonly total?: number;
  readonly words: string;
}

/**
 * The step that a message of the cluster tells: `Working towards 1.1.0: 13 of 16 done (81% complete), waiting on …`,
 * `3 of 8 checks done, waiting on …`. Where it tells no numbers, all of it are words. Pure.
 */
export function stepOf(label: string, message: string): Step {
  const text = message.replace(/\s*\n\s*/g, ' ');
  const counts = /(\d{1,6}) of (\d{1,6}) (?:checks )?done(?: \(\d+% complete\))?(?:, )?/.exec(text);
  if (counts === null) return { label, words: text };
  const words = text.slice(counts.index + counts[0].length);
  return { label, done: Number(counts[1]), total: Number(counts[2]), words };
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
        const lines = barLines({ ...best, words: step.words }, stream.columns ?? 80);
        const up = drawn > 0 ? `\u001b[${drawn}A` : '';
        stream.write(up + lines.map((line) => `\u001b[2K${line}\n`).join(''));
        drawn = lines.length;
        return;
      }
      const line = plainLine({ ...best, words: step.words });
      if (line !== told) say(line);
      told = line;
    },
    end() {
      drawn = 0;
      best = undefined;
    },
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

function plainLine({ label, done, total, words }: Step): string {
  const far = total === undefined ? '' : ` ${percent(done, total)} (${done} of ${total})`;
  return `${label}:${far}${far !== '' && words !== '' ? ',' : ''}${words === '' ? '' : ` ${words}`}`;
}

function barLines(step: Step, columns: number): string[] {
  const { label, done = 0, total, words } = step;
  const text = total === undefined ? '' : `${percent(done, total).padStart(4)}  ${done} of ${total}`;
  const width = Math.max(10, Math.min(40, columns - label.length - text.length - 5));
  const first = `${label}  ${bar(shareOf(step), width)}  ${text}`.trimEnd();
  return [first, `  ${words}`].map((line) =>
    line.length < columns ? line : `${line.slice(0, columns - 2)}…`,
  );
}

function percent(done = 0, total = 0): string {
  return `${total === 0 ? 0 : Math.floor((done / total) * 100)}%`;
}
