import { BlockList, isIP } from 'node:net';

/** The proxy that a request goes through, or undefined: directly. */
export type ProxyChoice = (url: URL) => string | undefined;

/**
 * Chooses as curl does: HTTPS_PROXY, HTTP_PROXY and NO_PROXY in both cases of letters (HTTP_PROXY only in lower
 * case, which a web server's request cannot set). What is on this machine or is a cluster's own is never sent
 * through a proxy, whatever the environment forgot.
 */
export function proxyFromEnvironment(env: NodeJS.ProcessEnv): ProxyChoice {
  const https = env.https_proxy || env.HTTPS_PROXY || env.all_proxy || env.ALL_PROXY;
  const http = env.http_proxy || env.all_proxy || env.ALL_PROXY;
  const exceptions = (env.no_proxy || env.NO_PROXY || '').split(/[\s,]+/).filter((each) => each !== '');
  return (url) => {
    const proxy = url.protocol === 'https:' ? https : http;
    if (!proxy || isOwn(url.hostname) || isExcepted(url, exceptions)) return undefined;
    return /^[a-z]+:\/\//i.test(proxy) ? proxy : `http://${proxy}`;
  };
}

function isOwn(hostname: string): boolean {
  const host = plainHost(hostname);
  if (host === 'localhost' || host.endsWith('.localhost') || host === '::1' || host.startsWith('127.'))
    return true;
  return host.startsWith('api-int.') || host.endsWith('.cluster.local') || host.endsWith('.sluice.internal');
}

/** `*`, `host`, `.domain`, `domain`, each maybe with `:port`, an address, or a range of them (`10.0.0.0/8`). */
function isExcepted(url: URL, exceptions: readonly string[]): boolean {
  const host = plainHost(url.hostname);
  const port = url.port || (url.protocol === 'https:' ? '443' : '80');
  return exceptions.some((exception) => {
    if (exception === '*') return true;
    if (exception.includes('/')) return isInRange(host, exception);
    const { name, port: only } = splitPort(exception.toLowerCase());
    if (only !== undefined && only !== port) return false;
    const domain = name.replace(/^\*?\./, '');
    return host === domain || (isIP(host) === 0 && host.endsWith(`.${domain}`));
  });
}

function isInRange(host: string, range: string): boolean {
  const version = isIP(host);
  const [network = '', bits = ''] = range.split('/');
  if (version === 0 || isIP(network) !== version || !/^\d{1,3}$/.test(bits)) return false;
  if (Number(bits) > (version === 4 ? 32 : 128)) return false;
  const family = version === 4 ? 'ipv4' : 'ipv6';
  const list = new BlockList();
  list.addSubnet(network, Number(bits), family);
  return list.check(host, family);
}

function splitPort(text: string): { name: string; port: string | undefined } {
  const bracketed = /^\[([^\]]+)\](?::(\d+))?$/.exec(text);
  if (bracketed !== null) return { name: bracketed[1] ?? '', port: bracketed[2] };
  if (isIP(text) === 6) return { name: text, port: undefined };
  const [name = '', port] = text.split(':');
  return { name, port };
}

function plainHost(hostname: string): string {
  return hostname
    .toLowerCase()
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '');
}
