/**
 * Many may publish at once, one removes alone. In the order in which they ask, so that neither starves.
 */
export interface PublishLock {
  shared<T>(act: () => Promise<T>): Promise<T>;
  alone<T>(act: () => Promise<T>): Promise<T>;
}

export function createPublishLock(): PublishLock {
  const sharers = new Set<Promise<unknown>>();
  let tail: Promise<unknown> = Promise.resolve();
  return {
    async shared(act) {
      const before = tail;
      const run = before.then(act);
      sharers.add(run);
      try {
        return await run;
      } finally {
        sharers.delete(run);
      }
    },
    async alone(act) {
      const waited = Promise.allSettled([tail, ...sharers]);
      const run = waited.then(act);
      tail = run.catch(() => {});
      return await run;
    },
  };
}
