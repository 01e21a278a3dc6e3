import {
  type AnchorHTMLAttributes,
  createContext,
  type MouseEvent,
  useContext,
  useEffect,
  useMemo,
  useState,
} from 'react';
import { hrefOf, parseRoute, type Route } from './route.ts';

interface Navigation {
  readonly route: Route;
  readonly base: string;
  readonly go: (route: Route, options?: { replace?: boolean }) => void;
}

const NavigationContext = createContext<Navigation | undefined>(undefined);

export const NavigationProvider = NavigationContext.Provider;

export function useNavigation(): Navigation {
  const found = useContext(NavigationContext);
  if (found === undefined) throw new Error('there is no navigation');
  return found;
}

/** The address bar as a route. */
export function useAddress(base: string): Navigation {
  const [address, setAddress] = useState(() => location.href);
  useEffect(() => {
    const listener = () => setAddress(location.href);
    window.addEventListener('popstate', listener);
    return () => window.removeEventListener('popstate', listener);
  }, []);
  return useMemo(() => {
    const { pathname, search } = new URL(address);
    const root = new URL(base).pathname;
    const path = pathname.startsWith(root) ? pathname.slice(root.length) : pathname;
    return {
      base,
      route: parseRoute(path, search),
      go(route, options = {}) {
        const href = new URL(hrefOf(route), base).href;
        if (options.replace === true) history.replaceState(null, '', href);
        else history.pushState(null, '', href);
        setAddress(href);
      },
    };
  }, [address, base]);
}

/** What makes an anchor a link inside the console. */
export function useLink(to: Route): {
  readonly href: string;
  readonly onClick: (event: MouseEvent<Element>) => void;
} {
  const { base, go } = useNavigation();
  return {
    href: new URL(hrefOf(to), base).href,
    onClick(event) {
      if (event.defaultPrevented || event.button !== 0) return;
      if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
      event.preventDefault();
      go(to);
    },
  };
}

/** A link inside the console: a real address, opened without loading the page again. */
export function Link({
  to,
  onClick,
  ...rest
}: { readonly to: Route } & Omit<AnchorHTMLAttributes<HTMLAnchorElement>, 'href'>) {
  const { href, onClick: follow } = useLink(to);
  return (
    <a
      {...rest}
      href={href}
      onClick={(event) => {
        onClick?.(event);
        follow(event);
      }}
    />
  );
}
