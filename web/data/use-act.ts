import { useCallback, useState } from 'react';
import type { ActionName } from '../../src/console/answers.ts';
import { ConsoleError } from './console-api.ts';
import { useConsole } from './hooks.ts';

/** Why an action was not carried out, and what to do. */
export interface ActFailure {
  readonly message: string;
  readonly next: string;
}

/** Carries an action out, and holds what went wrong for the page to show. */
export function useAct(action: ActionName): {
  /** Resolves to what the action tells, or undefined where it failed. */
  readonly act: (body: object) => Promise<Record<string, unknown> | undefined>;
  readonly busy: boolean;
  readonly failure: ActFailure | undefined;
  readonly forget: () => void;
} {
  const { api, leave } = useConsole();
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<ActFailure>();
  const act = useCallback(
    async (body: object) => {
      setBusy(true);
      setFailure(undefined);
      try {
        return await api.act(action, body);
      } catch (error) {
        if (error instanceof ConsoleError && error.status === 401) leave('expired');
        setFailure({
          message: error instanceof Error ? error.message : String(error),
          next: error instanceof ConsoleError ? error.next : '',
        });
        return undefined;
      } finally {
        setBusy(false);
      }
    },
    [api, action, leave],
  );
  const forget = useCallback(() => setFailure(undefined), []);
  return { act, busy, failure, forget };
}
