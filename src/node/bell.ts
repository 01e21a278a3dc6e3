export interface Bell {
  ring(): void;
  /** Resolves when it rings, at once where it rang since the last wait, and after `atMostMs` at the latest. */
  wait(atMostMs: number): Promise<void>;
}

/** Wakes one waiter, now or at its next wait. */
export function createBell(): Bell {
  let rung = false;
  let wake: (() => void) | undefined;
  return {
    ring() {
      rung = true;
      wake?.();
    },
    async wait(atMostMs) {
      if (!rung) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, atMostMs);
          wake = () => {
            clearTimeout(timer);
            resolve();
          };
        });
      }
      wake = undefined;
      rung = false;
    },
  };
}
