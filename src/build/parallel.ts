import { errorTable, isSluiceError, SluiceError } from '../errors/error.ts';

/**
 * Runs `act` on each item, at most `width` at a time, and waits for all that were begun. Results in the order of the
 * items. An error that speaks of one item lets the others go on, and all such errors are told together;
 * after any other nothing new is begun.
 */
export async function inParallel<T, R>(
  items: readonly T[],
  width: number,
  act: (item: T, index: number) => Promise<R>,
): Promise<R[]> {
  const results: R[] = new Array(items.length);
  const failures: { index: number; error: unknown }[] = [];
  let next = 0;
  let stopped = false;
  const worker = async (): Promise<void> => {
    while (next < items.length && !stopped) {
      const index = next;
      next += 1;
      try {
        results[index] = await act(items[index] as T, index);
      } catch (error) {
        failures.push({ index, error });
        stopped ||= !isOfItem(error);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(width, items.length) }, worker));
  if (failures.length > 0) throw together(failures);
  return results;
}

function isOfItem(error: unknown): boolean {
  return (
    isSluiceError(error) &&
    (errorTable[error.code].exit === 6 ||
      isSluiceError(error, 'NotFound', 'InputInvalid', 'Unauthorized', 'Forbidden'))
  );
}

function together(failures: { index: number; error: unknown }[]): unknown {
  const sorted = failures.sort((a, b) => a.index - b.index).map((each) => each.error);
  const first = sorted.find((error) => !isOfItem(error)) ?? sorted[0];
  if (!isSluiceError(first)) return first;
  const messages = [...new Set(sorted.map((error) => (error as Error).message))];
  if (messages.length === 1) return first;
  return new SluiceError(first.code, messages.join('; '), { cause: first, next: first.next });
}
