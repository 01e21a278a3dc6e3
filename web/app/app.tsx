import { useCallback, useEffect, useMemo, useState } from 'react';
import type { SessionAnswer } from '../../src/console/answers.ts';
import { createCluster } from '../data/cluster.ts';
import { ConsoleError, createConsoleApi } from '../data/console-api.ts';
import { type Console, ConsoleContext } from '../data/hooks.ts';
import { words } from '../words/english.ts';
import { Login } from './login.tsx';
import { NavigationProvider, useAddress } from './navigation.tsx';
import { Shell } from './shell.tsx';

type Stage =
  | { readonly at: 'asking' }
  | { readonly at: 'login'; readonly why: string | undefined }
  | { readonly at: 'in'; readonly session: SessionAnswer };

/** The code of a one-time link, taken out of the address at once. */
function takeCode(): string | undefined {
  const code = /^#code=([A-Za-z0-9_-]+)$/.exec(location.hash)?.[1];
  if (code !== undefined) history.replaceState(null, '', location.pathname + location.search);
  return code;
}
const linkCode = takeCode();

export function App({ base }: { readonly base: string }) {
  const api = useMemo(() => createConsoleApi(base), [base]);
  const navigation = useAddress(base);
  const [stage, setStage] = useState<Stage>({ at: 'asking' });

  useEffect(() => {
    let current = true;
    // The code is good once, also where React runs an effect twice.
    enter ??= linkCode === undefined ? api.session() : api.login({ code: linkCode });
    enter.then(
      (session) => current && setStage({ at: 'in', session }),
      (error: unknown) => current && setStage({ at: 'login', why: whyNot(error, linkCode) }),
    );
    return () => {
      current = false;
    };
  }, [api]);

  const leave = useCallback(
    (why: 'expired' | 'logout') => {
      const said = why === 'expired' ? words.login.expired : undefined;
      if (why === 'logout') api.logout().catch(() => {});
      setStage({ at: 'login', why: said });
    },
    [api],
  );

  switch (stage.at) {
    case 'asking':
      return <div className="sluice-asking" role="status" aria-label={words.login.asking} />;
    case 'login':
      return <Login why={stage.why} api={api} onSession={(session) => setStage({ at: 'in', session })} />;
    case 'in':
      return (
        <NavigationProvider value={navigation}>
          <Inside api={api} session={stage.session} leave={leave} />
        </NavigationProvider>
      );
  }
}

let enter: Promise<SessionAnswer> | undefined;

function Inside({ api, session, leave }: Pick<Console, 'api' | 'session' | 'leave'>) {
  const [cluster, setCluster] = useState<Console['cluster']>();
  useEffect(() => {
    const made = createCluster(api, session);
    setCluster(made);
    return () => made.close();
  }, [api, session]);
  const clockAhead = useMemo(() => Date.parse(session.now) - Date.now(), [session]);
  const value = useMemo(
    () => (cluster === undefined ? undefined : { api, session, cluster, clockAhead, leave }),
    [api, session, cluster, clockAhead, leave],
  );
  if (value === undefined) return null;
  return (
    <ConsoleContext value={value}>
      <Shell />
    </ConsoleContext>
  );
}

/** A person who only has not logged in yet is told nothing; everybody else is told what went wrong. */
function whyNot(error: unknown, code: string | undefined): string | undefined {
  if (error instanceof ConsoleError && error.status === 401 && code === undefined) return undefined;
  return error instanceof Error ? error.message : String(error);
}
