import { createTurns } from './turns.ts';

/**
 * Does something with each item, `width` of them at a time, in their order. The first that fails, or the signal, ends
 * it: nothing more is begun, and what was begun has ended when that error comes back.
 */
export async function eachInTurn<T>(
  items: Iterable<T>,
  width: number,
  signal: AbortSignal,
  act: (item: T) => Promise<void>,
): Promise<void> {
  const inTurn = createTurns(width);
  const failures: unknown[] = [];
  const work = async (item: T) => {
    if (failures.length > 0) return;
    try {
      signal.throwIfAborted();
      await act(item);
    } catch (error) {
      failures.push(error);
    }
  };
  await Promise.all([...items].map((item) => inTurn(() => work(item))));
  if (failures.length > 0) throw failures[0];
}
