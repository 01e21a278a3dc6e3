import { isIP, isIPv4, isIPv6 } from 'node:net';
import { escapedPath, hostnameOf, parseUri, portOf, type Uri } from '../schema/uri.ts';
import { type Library, library } from './library.ts';
import { CelError, CelList, type CelValue, LiteralMap, Opaque } from './values.ts';

/** Kubernetes' URL, IP and CIDR libraries (apiserver, cel/library/urls.go, ip.go, cidr.go). */
class UrlValue extends Opaque {
  override readonly typeName = 'kubernetes.URL';
  readonly uri: Uri;
  readonly text: string;

  constructor(uri: Uri, text: string) {
    super();
    this.uri = uri;
    this.text = text;
  }

  override equals(other: Opaque): boolean {
    return other instanceof UrlValue && other.text === this.text;
  }
}

class IpValue extends Opaque {
  override readonly typeName: string = 'net.IP';
  readonly bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    super();
    this.bytes = bytes;
  }

  override equals(other: Opaque): boolean {
    return other instanceof IpValue && Buffer.compare(other.bytes, this.bytes) === 0;
  }

  get isV4(): boolean {
    return this.bytes.length === 4;
  }

  startsWith(...prefix: readonly number[]): boolean {
    return prefix.every((byte, at) => this.bytes[at] === byte);
  }
}

class CidrValue extends Opaque {
  override readonly typeName = 'net.CIDR';
  readonly ip: IpValue;
  readonly bits: number;

  constructor(ip: IpValue, bits: number) {
    super();
    this.ip = ip;
    this.bits = bits;
  }

  override equals(other: Opaque): boolean {
    return other instanceof CidrValue && other.bits === this.bits && other.ip.equals(this.ip);
  }

  contains(ip: IpValue): boolean {
    if (ip.bytes.length !== this.ip.bytes.length) return false;
    return Buffer.compare(maskedTo(ip, this.bits), maskedTo(this.ip, this.bits)) === 0;
  }
}

export const networkLibrary: Library = library({
  'url(string): kubernetes.URL': (text: string) => {
    const uri = parseUri(text);
    if (uri !== undefined) return new UrlValue(uri, text);
    const why = `parse ${JSON.stringify(text)}: invalid URI for request`;
    throw new CelError(`URL parse error during conversion from string: ${why}`);
  },
  'isURL(string): bool': (text: string) => parseUri(text) !== undefined,
  'kubernetes.URL.getScheme(): string': ({ uri }: UrlValue) => uri.scheme,
  'kubernetes.URL.getHost(): string': ({ uri }: UrlValue) => uri.host,
  'kubernetes.URL.getHostname(): string': ({ uri }: UrlValue) => hostnameOf(uri.host),
  'kubernetes.URL.getPort(): string': ({ uri }: UrlValue) => portOf(uri.host),
  'kubernetes.URL.getEscapedPath(): string': ({ uri }: UrlValue) => escapedPath(uri.path),
  'kubernetes.URL.getQuery(): map': ({ uri }: UrlValue) => {
    const parameters = new URLSearchParams(uri.query);
    const query = new Map<CelValue, CelValue>();
    for (const name of new Set(parameters.keys())) query.set(name, new CelList(parameters.getAll(name)));
    return new LiteralMap(query);
  },

  'ip(string): net.IP': (text: string) => parseIp(text) ?? failedIp(text),
  'isIP(string): bool': (text: string) => parseIp(text) !== undefined,
  'net.IP.isCanonical(string): bool': (_namespace: CelValue, text: string) => {
    const ip = parseIp(text) ?? failedIp(text);
    return formatIp(ip) === text;
  },
  'net.IP.family(): int': (ip: IpValue) => (ip.isV4 ? 4n : 6n),
  'net.IP.isUnspecified(): bool': (ip: IpValue) => ip.bytes.every((byte) => byte === 0),
  'net.IP.isLoopback(): bool': isLoopback,
  'net.IP.isLinkLocalMulticast(): bool': isLinkLocalMulticast,
  'net.IP.isLinkLocalUnicast(): bool': isLinkLocalUnicast,
  'net.IP.isGlobalUnicast(): bool': (ip: IpValue) =>
    !(
      ip.bytes.every((byte) => byte === 0) ||
      ip.bytes.every((byte) => byte === 255) ||
      isLoopback(ip) ||
      isLinkLocalUnicast(ip) ||
      isMulticast(ip)
    ),
  'string(net.IP): string': (ip: IpValue) => formatIp(ip),

  'cidr(string): net.CIDR': (text: string) => parseCidr(text) ?? failedCidr(text),
  'isCIDR(string): bool': (text: string) => parseCidr(text) !== undefined,
  'net.CIDR.containsIP(net.IP): bool': (cidr: CidrValue, ip: IpValue) => cidr.contains(ip),
  'net.CIDR.containsIP(string): bool': (cidr: CidrValue, text: string) =>
    cidr.contains(parseIp(text) ?? failedIp(text)),
  'net.CIDR.containsCIDR(net.CIDR): bool': (cidr: CidrValue, other: CidrValue) =>
    other.bits >= cidr.bits && cidr.contains(other.ip),
  'net.CIDR.containsCIDR(string): bool': (cidr: CidrValue, text: string) => {
    const other = parseCidr(text) ?? failedCidr(text);
    return other.bits >= cidr.bits && cidr.contains(other.ip);
  },
  'net.CIDR.ip(): net.IP': (cidr: CidrValue) => cidr.ip,
  'net.CIDR.masked(): net.CIDR': (cidr: CidrValue) =>
    new CidrValue(new IpValue(maskedTo(cidr.ip, cidr.bits)), cidr.bits),
  'net.CIDR.prefixLength(): int': (cidr: CidrValue) => BigInt(cidr.bits),
  'string(net.CIDR): string': (cidr: CidrValue) => `${formatIp(cidr.ip)}/${cidr.bits}`,
});

function failedIp(text: string): never {
  const shown = JSON.stringify(text);
  if (isIPv6(text) && !text.includes('%')) {
    throw new CelError(`IPv4-mapped IPv6 address ${shown} is not allowed`);
  }
  const why = `ParseAddr(${shown}): unable to parse IP`;
  throw new CelError(`IP Address ${shown} parse error during conversion from string: ${why}`);
}

function failedCidr(text: string): never {
  const what = 'network address parse error during conversion from string';
  const why = text.includes('/') ? 'unable to parse prefix' : "no '/'";
  throw new CelError(`${what}: ${what}: netip.ParsePrefix(${JSON.stringify(text)}): ${why}`);
}

/** An address without zone, without leading zeros and not IPv4-mapped, as Kubernetes' library takes it. */
function parseIp(text: string): IpValue | undefined {
  if (isIP(text) === 0 || text.includes('%')) return undefined;
  if (isIPv4(text)) return new IpValue(Uint8Array.from(text.split('.'), Number));
  const bytes = parseIpv6(text);
  const isMapped =
    bytes.subarray(0, 10).every((byte) => byte === 0) && bytes[10] === 255 && bytes[11] === 255;
  return isMapped ? undefined : new IpValue(bytes);
}

function parseIpv6(text: string): Uint8Array {
  const embedded = /^(.*:)(\d+\.\d+\.\d+\.\d+)$/.exec(text);
  const hex = embedded === null ? text : `${embedded[1]}${v4AsGroups(embedded[2] as string)}`;
  const [head = '', tail] = hex.split('::');
  const groups = (part: string) =>
    part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16));
  const front = groups(head);
  const back = tail === undefined ? [] : groups(tail);
  const all = [...front, ...Array<number>(8 - front.length - back.length).fill(0), ...back];
  return Uint8Array.from(all.flatMap((group) => [group >> 8, group & 255]));
}

function v4AsGroups(text: string): string {
  const [a = 0, b = 0, c = 0, d = 0] = text.split('.').map(Number);
  return `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
}

/** The canonical form of RFC 5952. */
function formatIp(ip: IpValue): string {
  if (ip.isV4) return ip.bytes.join('.');
  const groups = Array.from(
    { length: 8 },
    (_, at) => ((ip.bytes[at * 2] ?? 0) << 8) | (ip.bytes[at * 2 + 1] ?? 0),
  );
  let best = { start: -1, length: 1 };
  for (let start = 0; start < 8; start++) {
    let length = 0;
    while (start + length < 8 && groups[start + length] === 0) length++;
    if (length > best.length) best = { start, length };
  }
  const text = (part: number[]) => part.map((group) => group.toString(16)).join(':');
  if (best.start < 0) return text(groups);
  return `${text(groups.slice(0, best.start))}::${text(groups.slice(best.start + best.length))}`;
}

function parseCidr(text: string): CidrValue | undefined {
  const match = /^([^/]+)\/(0|[1-9]\d{0,2})$/.exec(text);
  const ip = match === null ? undefined : parseIp(match[1] as string);
  const bits = Number(match?.[2]);
  return ip === undefined || bits > ip.bytes.length * 8 ? undefined : new CidrValue(ip, bits);
}

function maskedTo(ip: IpValue, bits: number): Uint8Array {
  return ip.bytes.map((byte, at) => byte & (0xff << Math.max(0, 8 - Math.max(0, bits - at * 8))));
}

function isLoopback(ip: IpValue): boolean {
  if (ip.isV4) return ip.startsWith(127);
  return ip.bytes.every((byte, at) => byte === (at === 15 ? 1 : 0));
}

function isLinkLocalMulticast(ip: IpValue): boolean {
  if (ip.isV4) return ip.startsWith(224, 0, 0);
  return ip.startsWith(0xff) && ((ip.bytes[1] ?? 0) & 0x0f) === 2;
}

function isLinkLocalUnicast(ip: IpValue): boolean {
  if (ip.isV4) return ip.startsWith(169, 254);
  return ip.startsWith(0xfe) && ((ip.bytes[1] ?? 0) & 0xc0) === 0x80;
}

function isMulticast(ip: IpValue): boolean {
  return ip.isV4 ? ((ip.bytes[0] ?? 0) & 0xf0) === 0xe0 : ip.startsWith(0xff);
}
