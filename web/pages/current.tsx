import { PageSection } from '@patternfly/react-core/dist/dynamic/components/Page';
import MapSignsIcon from '@patternfly/react-icons/dist/esm/icons/map-signs-icon';
import { lazy, Suspense } from 'react';
import { Link, useNavigation } from '../app/navigation.tsx';
import { Loading, Nothing } from '../parts/known.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { words } from '../words/english.ts';
import { Overview } from './overview/overview.tsx';

const Nodes = lazy(async () => ({ default: (await twice(() => import('./nodes/nodes.tsx'))).Nodes }));
const Preflight = lazy(async () => ({
  default: (await twice(() => import('./preflight/preflight.tsx'))).Preflight,
}));
const Releases = lazy(async () => ({
  default: (await twice(() => import('./releases/releases.tsx'))).Releases,
}));
const Update = lazy(async () => ({ default: (await twice(() => import('./update/update.tsx'))).Update }));

/** What the network lost once is asked for again. */
async function twice<T>(load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch {
    return await load();
  }
}

/** The page of the address. All but the overview are loaded when they are first opened. */
export function Current() {
  const { route } = useNavigation();
  switch (route.page) {
    case 'overview':
      return <Overview />;
    case 'releases':
      return (
        <Suspense fallback={<Loading />}>
          <Releases name={route.name} />
        </Suspense>
      );
    case 'update':
      return (
        <Suspense fallback={<Loading />}>
          <Update target={route.target} operator={route.operator} />
        </Suspense>
      );
    case 'nodes':
      return (
        <Suspense fallback={<Loading />}>
          <Nodes name={route.name} view={route.view} filter={route.filter} />
        </Suspense>
      );
    case 'preflight':
      return (
        <Suspense fallback={<Loading />}>
          <Preflight name={route.name} other={route.with} />
        </Suspense>
      );
    default:
      return (
        <>
          <PageHead title={words.state.nowhereTitle} />
          <PageSection hasBodyWrapper={false}>
            <Nothing title={route.path} icon={MapSignsIcon}>
              {words.state.nowhereNext} <Link to={{ page: 'overview' }}>{words.state.nowhereLink}</Link>
            </Nothing>
          </PageSection>
        </>
      );
  }
}
