/** What stands where a secret stood. */
export const removed = '[removed]';

/** Shorter values are words that stand in texts for other reasons: `true`, `admin`, a port. */
const secretLengthMin = 8;

/** Forms by which a secret is known though nobody has told us of it. */
const forms: readonly [RegExp, string][] = [
  [/-----BEGIN ([A-Z ]*PRIVATE KEY)-----[\s\S]*?(?:-----END \1-----|$)/g, removed],
  // JSON Web Tokens (RFC 7519): ServiceAccounts, OpenID Connect.
  [/\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*/g, removed],
  [/\$(?:2[aby]|5|6|y)\$[\w./$]{20,}/g, removed],
  [/\b(bearer|basic)\s+[\w+/=.~-]{8,}/gi, `$1 ${removed}`],
  [/\b([a-z][a-z0-9+.-]*:\/\/[^\s/:@"']*):[^\s/@"']+@/gi, `$1:${removed}@`],
  // A value whose name says what it is, in JSON, YAML, TOML and environments.
  [
    /((?:^|[\s"'{,])(?:[\w.-]*(?:password|passwd|token|secret|api[_-]?key|private[_-]?key|client-key-data|auth))["']?\s*[:=]\s*)("(?:[^"\\\n]|\\.)+"|'[^'\n]+'|[^\s"'{}[\],]{4,})/gim,
    `$1"${removed}"`,
  ],
];

export interface Redactor {
  /** A value that must not appear anywhere from now on; what it is in base64 neither. */
  learn(secret: string): void;
  text(text: string): string;
}

/** Takes secrets out of texts: those that it was told of wherever they stand, and what has the form of one. */
export function createRedactor(): Redactor {
  const secrets = new Set<string>();
  const keep = (value: string) => {
    if (value.length >= secretLengthMin) secrets.add(value);
  };
  return {
    learn(secret) {
      const value = secret.trim();
      keep(value);
      keep(Buffer.from(secret).toString('base64'));
      // A line of a password file, or of a key, may stand alone where it was logged.
      for (const line of value.split('\n')) {
        if (!line.startsWith('-----')) keep(line.trim());
      }
    },
    text(text) {
      let result = text;
      // The longest first, so that no rest of one is left by another that is part of it.
      for (const secret of [...secrets].sort((a, b) => b.length - a.length)) {
        result = result.replaceAll(secret, removed);
      }
      for (const [form, instead] of forms) result = result.replace(form, instead);
      return result;
    },
  };
}

/** Annotations that repeat a whole object as it was applied, secrets included. */
const repeating = ['kubectl.kubernetes.io/last-applied-configuration'];
const secretName = /pass|token|secret|key|credential|auth/i;

/** An object without what would tell a secret by its place, and without what nobody reads. */
export function withoutSecrets(object: unknown): unknown {
  if (Array.isArray(object)) return object.map(withoutSecrets);
  if (typeof object !== 'object' || object === null) return object;
  const record = object as Record<string, unknown>;
  const isVariable = typeof record.name === 'string' && 'value' in record && secretName.test(record.name);
  const entries = Object.entries(record)
    .filter(([key]) => key !== 'managedFields' && !repeating.includes(key))
    .map(([key, value]) => [key, isVariable && key === 'value' ? removed : withoutSecrets(value)] as const);
  return Object.fromEntries(entries);
}

/** Of a Secret its name, type and the names of its keys with their sizes. */
export function secretFacts(secret: {
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly creationTimestamp?: string;
  };
  readonly type?: string;
  readonly data?: Readonly<Record<string, string>>;
}): object {
  const { name, namespace, creationTimestamp } = secret.metadata;
  const keys = Object.entries(secret.data ?? {}).map(([key, value]) => [
    key,
    `${Buffer.from(value, 'base64').length} bytes`,
  ]);
  return { name, namespace, creationTimestamp, type: secret.type, keys: Object.fromEntries(keys) };
}
