import { isSluiceError, SluiceError, systemCode } from '../errors/error.ts';
import { answersWithoutTls, type HttpClient } from '../http/client.ts';
import type { ProxyChoice } from '../http/proxy.ts';

/** Names that no server of names knows, or that none could be asked for. */
const nameCodes = new Set(['ENOTFOUND', 'EAI_AGAIN', 'EAI_FAIL', 'EAI_NODATA', 'EAI_NONAME']);
/** Certificates that no known authority signed. */
const authorityCodes = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

/** A client of registries that says what to look at where one cannot be reached. */
export function explainUnreachable(http: HttpClient, proxy: ProxyChoice): HttpClient {
  return {
    async request(request) {
      return await http.request(request).catch((error: unknown) => {
        if (!isSluiceError(error, 'Unreachable')) throw error;
        const next = nextWhereUnreachable(error.cause, new URL(request.url), proxy);
        throw new SluiceError('Unreachable', error.message, { cause: error.cause, next });
      });
    },
    close: () => http.close(),
  };
}

/** What to look at, by what was met on the way to a registry. */
export function nextWhereUnreachable(cause: unknown, url: URL, proxy: ProxyChoice): string {
  const code = systemCode(cause) ?? '';
  if (answersWithoutTls(cause)) {
    return `Correct its port; where it has no TLS on purpose: --insecure-registry ${url.host}.`;
  }
  if (authorityCodes.has(code)) {
    return `Give the authority that signed its certificate: --ca FILE, or as a .crt file in /etc/containers/certs.d/${url.host}.`;
  }
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') return 'Name it as its certificate does, then run it again.';
  if (code === 'CERT_HAS_EXPIRED' || code === 'CERT_NOT_YET_VALID') {
    return "Look at this machine's clock; where that is right, who runs the registry renews its certificate.";
  }
  const variable = url.protocol === 'https:' ? 'HTTPS_PROXY' : 'http_proxy';
  const through = proxy(url);
  if (through !== undefined) {
    // Its address alone: it may carry a password.
    return `Look whether the proxy ${hostOf(through)} (${variable}) answers and lets it through; what is reached without it: NO_PROXY. Then run it again.`;
  }
  if (nameCodes.has(code)) {
    return `Look whether its name is right and this machine can resolve it; where a proxy does: ${variable}. Then run it again.`;
  }
  return `Look whether its name and port are right and the network lets this machine there; through a proxy: ${variable}. Then run it again.`;
}

function hostOf(proxy: string): string {
  return URL.canParse(proxy) ? new URL(proxy).host : 'of the environment';
}
