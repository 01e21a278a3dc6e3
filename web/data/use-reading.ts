import { useEffect, useState } from 'react';
import { ConsoleError } from './console-api.ts';
import { useConsole } from './hooks.ts';

/** Something that is read once, not watched. */
export type Reading<T> =
  | { readonly at: 'reading' }
  | { readonly at: 'failed'; readonly message: string; readonly next: string }
  | { readonly at: 'read'; readonly value: T };

/**
 * Reads a path below `api/`, again whenever it changes.
 *
 * @param again another value reads it once more.
 */
export function useReading<T>(path: string | undefined, again?: unknown): Reading<T> {
  const { api } = useConsole();
  const [reading, setReading] = useState<Reading<T>>({ at: 'reading' });
  // biome-ignore lint/correctness/useExhaustiveDependencies: `again` is there to read once more.
  useEffect(() => {
    if (path === undefined) return;
    const abort = new AbortController();
    setReading({ at: 'reading' });
    api.read<T>(path, abort.signal).then(
      (value) => setReading({ at: 'read', value }),
      (error: unknown) => {
        if (abort.signal.aborted) return;
        setReading({
          at: 'failed',
          message: error instanceof Error ? error.message : String(error),
          next: error instanceof ConsoleError ? error.next : '',
        });
      },
    );
    return () => abort.abort();
  }, [api, path, again]);
  return reading;
}
