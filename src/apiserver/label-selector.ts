import type { LabelRequirement } from '../api/selector.ts';
import { labelValueProblems, qualifiedNameProblems } from './schema/names.ts';
import { badRequest } from './status.ts';

/** Longest selector that is read. */
export const selectorCharactersMax = 8 * 1024;

const operatorOf: Readonly<Record<string, string>> = {
  in: 'In',
  notin: 'NotIn',
  '=': 'In',
  '==': 'In',
  '!=': 'NotIn',
  '>': 'Gt',
  '<': 'Lt',
};

/**
 * Reads a selector as a request carries it: `a=b,c!=d,e in (f,g),h notin (i),j,!k,l>5` (apimachinery,
 * pkg/labels/selector.go, whose words its errors have). @throws 400
 */
export function parseLabelSelector(text: string): LabelRequirement[] {
  if (text.length > selectorCharactersMax) throw badRequest('the label selector is too long');
  const tokens = new Tokens(text);
  const requirements: LabelRequirement[] = [];
  for (;;) {
    const { kind, text: found } = tokens.peek();
    if (kind === 'end') return requirements;
    if (kind !== 'word' && found !== '!') {
      throw badRequest(`found '${found}', expected: !, identifier, or 'end of string'`);
    }
    requirements.push(requirementOf(tokens));
    const next = tokens.take();
    if (next.kind === 'end') return requirements;
    if (next.text !== ',') throw badRequest(`found '${next.text}', expected: ',' or 'end of string'`);
    const after = tokens.peek();
    if (after.kind !== 'word' && after.text !== '!') {
      throw badRequest(`found '${after.text}', expected: identifier after ','`);
    }
  }
}

function requirementOf(tokens: Tokens): LabelRequirement {
  const isAbsent = tokens.peek().text === '!' && tokens.take() !== undefined;
  const { kind, text: key } = tokens.take();
  if (kind !== 'word') throw unreadable(`found '${key}', expected: identifier`);
  const wrong = qualifiedNameProblems(key);
  if (wrong.length > 0) throw unreadable(invalidValue('<nil>', key, wrong.join('; ')));
  if (isAbsent) return { key, operator: 'DoesNotExist' };
  const next = tokens.peek();
  if (next.kind === 'end' || next.text === ',') return { key, operator: 'Exists' };
  const sign = tokens.take();
  const operator = operatorOf[sign.text];
  if (operator === undefined) {
    throw unreadable(`found '${sign.text}', expected: in, notin, =, ==, !=, gt, lt`);
  }
  const isSet = sign.text === 'in' || sign.text === 'notin';
  const values = isSet ? setOf(tokens) : [exactValue(tokens)];
  const [value = ''] = values;
  if ((operator === 'Gt' || operator === 'Lt') && !/^[+-]?\d+$/.test(value)) {
    const why = "for 'Gt', 'Lt' operators, the value must be an integer";
    throw unreadable(invalidValue('values[0]', value, why));
  }
  for (const [at, one] of values.entries()) {
    const problems = labelValueProblems(one);
    if (problems.length > 0)
      throw unreadable(invalidValue(`values[${at}][${key}]`, one, problems.join('; ')));
  }
  return { key, operator, values };
}

function exactValue(tokens: Tokens): string {
  const next = tokens.peek();
  if (next.kind === 'end' || next.text === ',') return '';
  const { kind, text } = tokens.take();
  if (kind !== 'word') throw unreadable(`found '${text}', expected: identifier`);
  return text;
}

/** `(a,b)`; where a comma has nothing on a side of it, that is the empty value. */
function setOf(tokens: Tokens): string[] {
  const open = tokens.take();
  if (open.text !== '(') throw unreadable(`found '${open.text}' expected: '('`);
  const values = new Set<string>();
  for (let awaited = false; ; ) {
    const { kind, text } = tokens.take();
    if (text === ')') {
      if (awaited || values.size === 0) values.add('');
      return [...values].sort();
    }
    if (text === ',') {
      if (awaited || values.size === 0) values.add('');
      awaited = true;
      continue;
    }
    if (kind !== 'word') throw unreadable(`found '${text}', expected: ',', or identifier`);
    values.add(text);
    awaited = false;
    const next = tokens.peek();
    if (next.text !== ',' && next.text !== ')')
      throw unreadable(`found '${next.text}', expected: ',' or ')'`);
  }
}

function invalidValue(field: string, value: unknown, why: string): string {
  return `${field}: Invalid value: ${JSON.stringify(value)}: ${why}`;
}

const unreadable = (why: string) => badRequest(`unable to parse requirement: ${why}`);

interface Token {
  readonly kind: 'word' | 'sign' | 'end';
  readonly text: string;
}

const signs = ['==', '!=', '=', '!', '(', ')', ',', '>', '<'];

class Tokens {
  readonly #text: string;
  #at = 0;
  #next: Token | undefined;

  constructor(text: string) {
    this.#text = text;
  }

  peek(): Token {
    this.#next ??= this.#read();
    return this.#next;
  }

  take(): Token {
    const token = this.peek();
    this.#next = undefined;
    return token;
  }

  #read(): Token {
    const text = this.#text;
    while (' \t\r\n'.includes(text[this.#at] ?? '-')) this.#at += 1;
    if (this.#at >= text.length) return { kind: 'end', text: '' };
    const sign = signs.find((one) => text.startsWith(one, this.#at));
    if (sign !== undefined) {
      this.#at += sign.length;
      return { kind: 'sign', text: sign };
    }
    const from = this.#at;
    while (this.#at < text.length && !' \t\r\n=!(),><'.includes(text[this.#at] as string)) this.#at += 1;
    return { kind: 'word', text: text.slice(from, this.#at) };
  }
}
