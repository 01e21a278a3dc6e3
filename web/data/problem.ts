import type { Route } from '../app/route.ts';

/** Something that needs a person, with what to do next. */
export interface Problem {
  /** Stays the same while the problem is the same. */
  readonly id: string;
  readonly level: 'danger' | 'warning' | 'info';
  readonly title: string;
  readonly detail: string;
  readonly since?: string | undefined;
  /** A place in the console. */
  readonly next:
    | { readonly text: string; readonly to: Route }
    /** A window for these nodes, which stand at a place in the console. */
    | { readonly text: string; readonly window: readonly string[]; readonly to: Route };
}
