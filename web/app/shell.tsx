import { Alert, AlertActionLink } from '@patternfly/react-core/dist/dynamic/components/Alert';
import { Button } from '@patternfly/react-core/dist/dynamic/components/Button';
import {
  Masthead,
  MastheadBrand,
  MastheadContent,
  MastheadLogo,
  MastheadMain,
  MastheadToggle,
} from '@patternfly/react-core/dist/dynamic/components/Masthead';
import { Nav, NavItem, NavList } from '@patternfly/react-core/dist/dynamic/components/Nav';
import {
  Page,
  PageSidebar,
  PageSidebarBody,
  PageToggleButton,
} from '@patternfly/react-core/dist/dynamic/components/Page';
import { SkipToContent } from '@patternfly/react-core/dist/dynamic/components/SkipToContent';
import MoonIcon from '@patternfly/react-icons/dist/esm/icons/moon-icon';
import SignOutAltIcon from '@patternfly/react-icons/dist/esm/icons/sign-out-alt-icon';
import SunIcon from '@patternfly/react-icons/dist/esm/icons/sun-icon';
import { useEffect, useState } from 'react';
import { useConsole, useNow, useStaleSince } from '../data/hooks.ts';
import { Current } from '../pages/current.tsx';
import { words } from '../words/english.ts';
import { formatRelative } from '../words/format.ts';
import { Guard } from './guard.tsx';
import { Link, useNavigation } from './navigation.tsx';
import { pageNames } from './route.ts';
import { applyTheme, chooseTheme, chosenTheme } from './theme.ts';

const mainId = 'main';
/** Pixels below which the navigation lies over the page (PatternFly's breakpoint xl). */
const wideFrom = 1200;

/** The frame around every page: masthead, navigation, and what is said of the connection. */
export function Shell() {
  const { route } = useNavigation();
  const [isOpen, setOpen] = useState(() => innerWidth >= wideFrom);
  const [page, setPage] = useState(route.page);
  if (page !== route.page) {
    setPage(route.page);
    if (innerWidth < wideFrom) setOpen(false); // It would lie over what was just chosen.
  }
  return (
    <Page
      mainContainerId={mainId}
      mainAriaLabel={words.product}
      isContentFilled
      skipToContent={
        <SkipToContent href={`#${mainId}`} onClick={focusMain}>
          {words.shell.skip}
        </SkipToContent>
      }
      masthead={<Head isOpen={isOpen} onToggle={() => setOpen(!isOpen)} />}
      sidebar={
        <PageSidebar isSidebarOpen={isOpen}>
          <PageSidebarBody>
            <Navigation />
          </PageSidebarBody>
        </PageSidebar>
      }
    >
      <StaleBanner />
      <Guard key={route.page}>
        <Current />
      </Guard>
    </Page>
  );
}

function focusMain(event: { preventDefault: () => void }): void {
  event.preventDefault(); // The address has a base: the fragment alone would lead to the root.
  document.getElementById(mainId)?.focus();
}

function Head({ isOpen, onToggle }: { readonly isOpen: boolean; readonly onToggle: () => void }) {
  const { session, leave } = useConsole();
  const [theme, setTheme] = useState(chosenTheme);
  useEffect(() => applyTheme(theme), [theme]);
  const other = theme === 'dark' ? 'light' : 'dark';
  return (
    <Masthead display={{ default: 'inline' }}>
      <MastheadMain>
        <MastheadToggle>
          <PageToggleButton
            isHamburgerButton
            aria-label={words.shell.openMenu}
            isSidebarOpen={isOpen}
            onSidebarToggle={onToggle}
          />
        </MastheadToggle>
        <MastheadBrand>
          <MastheadLogo component={(props) => <Link {...props} to={{ page: 'overview' }} />}>
            <img src="./icon.svg" alt="" width={28} height={28} />
            <span className="sluice-brand">{words.product}</span>
          </MastheadLogo>
        </MastheadBrand>
      </MastheadMain>
      <MastheadContent>
        <div className="sluice-masthead-end">
          <span className="sluice-user" title={words.shell.version(session.version)}>
            {words.shell.user(session.user, session.by)}
          </span>
          <Button
            variant="plain"
            aria-label={other === 'dark' ? words.shell.dark : words.shell.light}
            icon={other === 'dark' ? <MoonIcon /> : <SunIcon />}
            onClick={() => {
              chooseTheme(other);
              setTheme(other);
            }}
          />
          <Button
            variant="plain"
            aria-label={words.shell.logout}
            title={`${words.shell.logout}: ${words.shell.user(session.user, session.by)}`}
            icon={<SignOutAltIcon />}
            onClick={() => leave('logout')}
          />
        </div>
      </MastheadContent>
    </Masthead>
  );
}

function Navigation() {
  const { route } = useNavigation();
  return (
    <Nav aria-label={words.shell.menu}>
      <NavList>
        {pageNames.map((page) => (
          <NavItem key={page} isActive={route.page === page}>
            <Link to={{ page }} aria-current={route.page === page ? 'page' : undefined}>
              {words.shell.nav[page]}
            </Link>
          </NavItem>
        ))}
      </NavList>
    </Nav>
  );
}

function StaleBanner() {
  const since = useStaleSince();
  const now = useNow();
  const { cluster, clockAhead } = useConsole();
  if (since === undefined) return null;
  return (
    <Alert
      isInline
      isLiveRegion
      variant="warning"
      title={words.stale.title}
      component="h2"
      className="sluice-stale"
      actionLinks={
        <AlertActionLink
          onClick={() => {
            for (const store of cluster.stores()) store.retry();
          }}
        >
          {words.stale.retry}
        </AlertActionLink>
      }
    >
      {words.stale.body(formatRelative(since + clockAhead, now))}
    </Alert>
  );
}
