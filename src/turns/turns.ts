/** Lets pieces of work run in the order in which they were asked for. */
export type Turns = <T>(work: () => Promise<T>) => Promise<T>;

/**
 * At most `width` pieces of work run at a time; one after another where none is given. One that fails keeps none of
 * the others from their turn; its error goes to whoever asked for it.
 */
export function createTurns(width = 1): Turns {
  const waiting: (() => void)[] = [];
  let free = width;
  return async (work) => {
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) free += 1;
      else next();
    }
  };
}
