import { isRecord } from '../object.ts';

/**
 * The JSONPath of printer columns and selectable fields (kubernetes, client-go util/jsonpath): members, indices,
 * slices, `*`, `..`, unions of members and filters `[?(@.type=="Ready")]`.
 */
export type Evaluator = (root: unknown) => unknown[];

type Step = (nodes: unknown[]) => unknown[];

/** Longest path that is read. */
const pathCharactersMax = 1_024;

const compiled = new Map<string, Evaluator>();
const compiledMax = 2_000;

/** Compiles a path such as `.status.conditions[?(@.type=="Ready")].status`. @throws Error where it cannot be read */
export function compileJsonPath(path: string): Evaluator {
  const known = compiled.get(path);
  if (known !== undefined) return known;
  const steps = parse(path);
  const evaluator: Evaluator = (root) => steps.reduce((nodes, step) => step(nodes), [root]);
  if (compiled.size < compiledMax) compiled.set(path, evaluator);
  return evaluator;
}

function parse(path: string): Step[] {
  if (path.length > pathCharactersMax) throw new Error('the JSONPath is too long');
  const text = path.replace(/^\{|\}$/g, '').replace(/^\$/, '');
  const steps: Step[] = [];
  let at = 0;
  while (at < text.length) {
    if (text.startsWith('..', at)) {
      steps.push(descend);
      at += text[at + 2] === '[' ? 2 : 1;
      continue;
    }
    if (text[at] === '[') {
      const end = closing(text, at);
      steps.push(bracket(text.slice(at + 1, end)));
      at = end + 1;
      continue;
    }
    const [whole = '', name = ''] = /^\.?((?:\\.|[^.[\\])+)/.exec(text.slice(at)) ?? [];
    if (name === '') throw new Error(`JSONPath ${path}: unexpected ${JSON.stringify(text[at])}`);
    steps.push(name === '*' ? children : member(name.replaceAll(/\\(.)/g, '$1')));
    at += whole.length;
  }
  return steps;
}

function closing(text: string, open: number): number {
  let depth = 0;
  let quote = '';
  for (let at = open; at < text.length; at += 1) {
    const character = text[at] ?? '';
    if (quote !== '') {
      if (character === '\\') at += 1;
      else if (character === quote) quote = '';
    } else if (character === '"' || character === "'") quote = character;
    else if (character === '[') depth += 1;
    else if (character === ']') {
      depth -= 1;
      if (depth === 0) return at;
    }
  }
  throw new Error(`JSONPath ${text}: a bracket is not closed`);
}

const member =
  (name: string): Step =>
  (nodes) =>
    nodes.flatMap((node) => (isRecord(node) && Object.hasOwn(node, name) ? [node[name]] : []));

const children: Step = (nodes) =>
  nodes.flatMap((node) => (Array.isArray(node) ? node : isRecord(node) ? Object.values(node) : []));

const descend: Step = (nodes) => nodes.flatMap((node) => [node, ...descend(children([node]))]);

function bracket(inner: string): Step {
  const text = inner.trim();
  if (text === '*') return children;
  const filter = /^\?\((.*)\)$/s.exec(text);
  if (filter !== null) return filterStep(filter[1] ?? '');
  const quoted = [...text.matchAll(/\s*(?:'((?:\\.|[^'\\])*)'|"((?:\\.|[^"\\])*)")\s*(?:,|$)/gy)];
  if (quoted.length > 0) {
    const steps = quoted.map((match) => member((match[1] ?? match[2] ?? '').replaceAll(/\\(.)/g, '$1')));
    return (nodes) => steps.flatMap((step) => step(nodes));
  }
  if (/^-?\d+(\s*,\s*-?\d+)*$/.test(text)) {
    const indices = text.split(',').map(Number);
    return (nodes) =>
      nodes.flatMap((node) =>
        Array.isArray(node)
          ? indices.flatMap((index) => {
              const place = index < 0 ? node.length + index : index;
              return place in node ? [node[place]] : [];
            })
          : [],
      );
  }
  const slice = /^(-?\d*):(-?\d*)(?::(\d+))?$/.exec(text);
  if (slice === null) throw new Error(`JSONPath: [${inner}] cannot be read`);
  const from = slice[1] ? Number(slice[1]) : 0;
  const to = slice[2] ? Number(slice[2]) : undefined;
  const stride = Number(slice[3] ?? 1) || 1;
  return (nodes) =>
    nodes.flatMap((node) =>
      Array.isArray(node) ? node.slice(from, to).filter((_, index) => index % stride === 0) : [],
    );
}

function filterStep(expression: string): Step {
  const match = /^(.+?)\s*(==|!=|<=|>=|<|>)\s*(.+)$/s.exec(expression.trim());
  if (match === null) {
    const exists = operand(expression.trim());
    return (nodes) => children(nodes).filter((node) => exists(node).length > 0);
  }
  const left = operand((match[1] ?? '').trim());
  const right = operand((match[3] ?? '').trim());
  const compare = comparison(match[2] ?? '==');
  return (nodes) =>
    children(nodes).filter((node) => {
      const [a] = left(node);
      const [b] = right(node);
      return a !== undefined && b !== undefined && compare(a, b);
    });
}

function operand(text: string): Evaluator {
  if (text.startsWith('@')) {
    const steps = parse(text.slice(1));
    return (node) => steps.reduce((nodes, step) => step(nodes), [node]);
  }
  const quoted = /^(?:'((?:\\.|[^'\\])*)'|"((?:\\.|[^"\\])*)")$/s.exec(text);
  if (quoted !== null) {
    const value = (quoted[1] ?? quoted[2] ?? '').replaceAll(/\\(.)/g, '$1');
    return () => [value];
  }
  if (/^-?\d+(\.\d+)?$/.test(text)) return () => [Number(text)];
  if (text === 'true' || text === 'false') return () => [text === 'true'];
  throw new Error(`JSONPath: ${text} cannot be compared`);
}

function comparison(operator: string): (a: unknown, b: unknown) => boolean {
  switch (operator) {
    case '==':
      return (a, b) => a === b;
    case '!=':
      return (a, b) => a !== b;
    case '<':
      return (a, b) => (a as number) < (b as number);
    case '<=':
      return (a, b) => (a as number) <= (b as number);
    case '>':
      return (a, b) => (a as number) > (b as number);
    default:
      return (a, b) => (a as number) >= (b as number);
  }
}
