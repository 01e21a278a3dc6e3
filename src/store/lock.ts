/**
 * Many may publish at once, one removes alone. In the order in which they ask, so that neither starves.
 */
export interface PublishLock {
  shared<T>(act: () => Promise<T>): Promise<T>;
  alone<T>(act: () => Promise<T>): Promise<T>;
}

export function createPublishLock(): PublishLock {
  let sharers: Promise<unknown>[] = [];
  let tail: Promise<unknown> = Promise.resolve();
  return {
    async shared(act) {
      const before = tail;
      const run = before.then(act);
      sharers.push(run.catch(() => {}));
      return await run;
    },
    async alone(act) {
      const waited = Promise.all([tail, ...sharers]);
      sharers = [];
      const run = waited.then(act);
      tail = run.catch(() => {});
      return await run;
    },
  };
}
