/** The middle of several measurements. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

/** Milliseconds that something takes. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

/** Runs `work` for 0 to `count` - 1, `width` at once; returns how many a second were done. */
export async function rateOf(
  count: number,
  width: number,
  work: (at: number) => Promise<unknown>,
): Promise<number> {
  let next = 0;
  const worker = async () => {
    for (let at = next++; at < count; at = next++) await work(at);
  };
  const ms = await timed(() => Promise.all(Array.from({ length: width }, worker)));
  return (count / ms) * 1000;
}

export function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
