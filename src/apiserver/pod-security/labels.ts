import { type FieldError, invalid } from '../schema/field-error.ts';
import type { Level, Standard } from './standards.ts';

/** What a Namespace asks of its Pods. Audit entries are not kept, so what it asks to be audited only has to be valid. */
export interface NamespacePolicy {
  readonly enforce: Standard;
  readonly warn: Standard;
  readonly problems: readonly FieldError[];
}

const prefix = 'pod-security.kubernetes.io/';
const levels: readonly Level[] = ['privileged', 'baseline', 'restricted'];

/** How strict a level is. */
export function strictness(level: Level): number {
  return levels.indexOf(level);
}

/**
 * Reads the labels of a Namespace. What cannot be read is a problem, and taken for the strictest where it is enforced,
 * for nothing where it only warns.
 */
export function policyOf(labels: Readonly<Record<string, unknown>>): NamespacePolicy {
  const has = (name: string) => Object.hasOwn(labels, prefix + name);
  const text = (name: string) => (has(name) ? String(labels[prefix + name]) : undefined);
  const problems = ['enforce', 'audit', 'warn'].flatMap((mode) => [
    ...problem(mode, text(mode), readLevel, `must be one of ${levels.join(', ')}`),
    ...problem(`${mode}-version`, text(`${mode}-version`), readVersion, 'must be "latest" or "v1.x"'),
  ]);
  const enforced = text('enforce');
  const enforce: Standard = {
    level: enforced === undefined ? 'privileged' : (readLevel(enforced) ?? 'restricted'),
    version: readVersion(text('enforce-version') ?? 'latest') ?? 'latest',
  };
  const warnVersion = readVersion(text('warn-version') ?? 'latest') ?? 'latest';
  // Who enforces is warned too: a Deployment is taken, and only its Pods are refused.
  const warn: Standard =
    !has('warn') && enforced !== undefined && readLevel(enforced) !== undefined
      ? { level: enforce.level, version: has('warn-version') ? warnVersion : enforce.version }
      : { level: readLevel(text('warn') ?? 'privileged') ?? 'privileged', version: warnVersion };
  return { enforce, warn, problems };
}

function problem(
  name: string,
  text: string | undefined,
  read: (text: string) => unknown,
  detail: string,
): FieldError[] {
  if (text === undefined || read(text) !== undefined) return [];
  return [invalid(`metadata.labels[${prefix}${name}]`, text, detail)];
}

function readLevel(text: string): Level | undefined {
  return levels.find((level) => level === text);
}

function readVersion(text: string): Standard['version'] | undefined {
  if (text === 'latest') return text;
  const minor = /^v1\.(0|[1-9][0-9]*)$/.exec(text)?.[1];
  return minor === undefined ? undefined : Number(minor);
}
