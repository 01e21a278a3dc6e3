import { readFile } from 'node:fs/promises';

/** The names that an address in the configuration may use as `${name}`; zincati's. */
export const variableNames = ['basearch', 'group', 'platform', 'stream'] as const;

export type UrlVariables = Readonly<Record<(typeof variableNames)[number], string>>;

const variable = /\$\{(\w*)\}/g;

/** The first name in an address that is none; undefined where all are known. Pure. */
export function unknownVariable(template: string): string | undefined {
  const names = [...template.matchAll(variable)].map(([, name]) => name ?? '');
  return names.find((name) => !(variableNames as readonly string[]).includes(name));
}

export function hasVariables(template: string): boolean {
  return template.includes('${');
}

/** An address with what it names filled in. What a host says of itself is one part of a path, never more. Pure. */
export function fillUrl(template: string, values: UrlVariables): string {
  return template.replaceAll(variable, (_, name: keyof UrlVariables) =>
    encodeURIComponent(values[name] ?? ''),
  );
}

/** Whether an answer from there can be believed to be its own: TLS, or never on a wire. Pure. */
export function isConfidential(address: string): boolean {
  const { protocol, hostname } = new URL(address.replaceAll(variable, 'x'));
  return protocol === 'https:' || /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);
}

export const basearch =
  process.arch === 'arm64' ? 'aarch64' : process.arch === 'x64' ? 'x86_64' : process.arch;

/** The stream of a host whose image names none. */
export const defaultStream = 'stable';

/** Ignition's word for where the machine runs, on the kernel's command line. */
export async function platformOf(): Promise<string | undefined> {
  try {
    return /(?:^|\s)ignition\.platform\.id=(\S+)/.exec(await readFile('/proc/cmdline', 'utf8'))?.[1];
  } catch {
    return undefined;
  }
}
