/** The grammars of names, in the words of apimachinery (pkg/util/validation): each returns what is wrong, or nothing. */

const label = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
const subdomain = `${label}(\\.${label})*`;
const label1035 = '[a-z]([-a-z0-9]*[a-z0-9])?';
const qualified = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]';

const labelUnitsMax = 63;
const subdomainUnitsMax = 253;

// Each is anchored and has no two ways to match the same text in one repeat, so JavaScript's engine stays linear on
// the few hundred characters that the length check lets through.
const labelPattern = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const subdomainPattern = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const label1035Pattern = /^[a-z]([-a-z0-9]*[a-z0-9])?$/;
const qualifiedPattern = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;

export function labelProblems(value: string): string[] {
  const problems = longerThan(value, labelUnitsMax);
  if (matches(labelPattern, value)) return problems;
  if (matches(subdomainPattern, value)) return [...problems, 'must not contain dots'];
  return [
    ...problems,
    regexProblem(
      "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
      label,
      'my-name',
      '123-abc',
    ),
  ];
}

export function subdomainProblems(value: string): string[] {
  const problems = longerThan(value, subdomainUnitsMax);
  if (matches(subdomainPattern, value)) return problems;
  return [
    ...problems,
    regexProblem(
      "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
      subdomain,
      'example.com',
    ),
  ];
}

export function label1035Problems(value: string): string[] {
  const problems = longerThan(value, labelUnitsMax);
  if (matches(label1035Pattern, value)) return problems;
  return [
    ...problems,
    regexProblem(
      "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
      label1035,
      'my-name',
      'abc-123',
    ),
  ];
}

/** Keys of labels and annotations, names of conditions: `[prefix/]name`. */
export function qualifiedNameProblems(value: string): string[] {
  const wording =
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
  const grammar = regexProblem(wording, qualified, 'MyName', 'my.name', '123-abc');
  const parts = value.split('/');
  if (parts.length > 2) {
    return [
      `a qualified name ${grammar} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
    ];
  }
  const problems: string[] = [];
  const name = parts.at(-1) as string;
  if (parts.length === 2) {
    const prefix = parts[0] as string;
    if (prefix === '') problems.push('prefix part must be non-empty');
    else problems.push(...subdomainProblems(prefix).map((problem) => `prefix part ${problem}`));
  }
  if (name === '') problems.push('name part must be non-empty');
  problems.push(...longerThan(name, labelUnitsMax).map((problem) => `name part ${problem}`));
  if (!matches(qualifiedPattern, name)) problems.push(`name part ${grammar}`);
  return problems;
}

export function labelValueProblems(value: string): string[] {
  const problems = longerThan(value, labelUnitsMax);
  if (value === '' || matches(qualifiedPattern, value)) return problems;
  return [
    ...problems,
    regexProblem(
      "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
      `(${qualified})?`,
      'MyValue',
      'my_value',
      '12345',
    ),
  ];
}

/** Names that only have to fit in a path (RBAC objects). */
export function pathSegmentProblems(value: string): string[] {
  if (value === '.' || value === '..') return [`may not be '${value}'`];
  return ['/', '%'].filter((part) => value.includes(part)).map((part) => `may not contain '${part}'`);
}

/** The name with which a prefix such as `generateName` will begin: a trailing dash may be followed by more. */
export function maskTrailingDash(name: string): string {
  return name.length > 1 && name.endsWith('-') ? `${name.slice(0, -2)}a` : name;
}

export function regexProblem(message: string, pattern: string, ...examples: string[]): string {
  if (examples.length === 0) return `${message} (regex used for validation is '${pattern}')`;
  const shown = examples.map((example) => `'${example}', `).join(' or ');
  return `${message} (e.g. ${shown}regex used for validation is '${pattern}')`;
}

function longerThan(value: string, max: number): string[] {
  return value.length > max ? [`must be no more than ${max} characters`] : [];
}

function matches(pattern: RegExp, value: string): boolean {
  return value.length <= 4 * subdomainUnitsMax && pattern.test(value);
}
