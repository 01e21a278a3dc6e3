/** Lets pieces of work run one after another, in the order in which they were asked for. */
export type Turns = <T>(work: () => Promise<T>) => Promise<T>;

/** One that fails keeps none of the others from their turn; its error goes to whoever asked for it. */
export function createTurns(): Turns {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const mine = last.then(work, work);
    last = mine.catch(() => {});
    return mine;
  };
}
