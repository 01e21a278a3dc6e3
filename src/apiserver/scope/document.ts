import { builtInKinds, type ResourceScope } from './kinds.ts';

/** The scope as the rows of a Markdown table, for docs/embedded-api.md. */
export function scopeTable(): string {
  const head = [
    '| group/version | kind | resource | what acts on it | beside reading and writing it |',
    '|---|---|---|---|---|',
  ];
  return [...head, ...builtInKinds.map(row)].join('\n');
}

const roles: Readonly<Record<ResourceScope['role'], string>> = {
  acts: 'acts',
  stored: 'stored only',
  review: 'answered, never stored',
};

function row(kind: ResourceScope): string {
  const groupVersion = kind.group === '' ? kind.version : `${kind.group}/${kind.version}`;
  const names = [kind.plural, ...kind.shortNames].join(', ');
  const scope = kind.namespaced ? names : `${names} (cluster)`;
  const subresources = kind.subresources.map(({ name }) => `\`${name}\``).join(' ');
  return `| ${groupVersion} | ${kind.kind} | ${scope} | ${roles[kind.role]} | ${subresources} |`;
}
