import type { Gatekeeper } from './rest/engine.ts';

/** Lets everything pass as it is. */
export const neutralGatekeeper: Gatekeeper = {
  schema: () => undefined,
  complete: () => {},
  problems: () => [],
  review: () => ({ warnings: [], audit: {} }),
};
