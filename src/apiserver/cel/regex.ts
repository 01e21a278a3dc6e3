import { Budget, BudgetExceeded } from './budget.ts';
import { type CharTest, isWordCharacter } from './regex-class.ts';
import { type Assertion, parseRegex, type RegexNode } from './regex-syntax.ts';

/**
 * Regular expressions in linear time: a virtual machine that moves all threads over the text at once (Pike's,
 * https://swtch.com/~rsc/regexp/regexp2.html). JavaScript's own backtrack: one hostile pattern would stop the process.
 */
export interface Regex {
  readonly source: string;
  /** Whether the pattern is found anywhere in `text`. @throws BudgetExceeded */
  test(text: string, budget?: Budget): boolean;
  /** The leftmost match at or after `from` (UTF-16 units), preferring as Perl does. @throws BudgetExceeded */
  find(text: string, from?: number, budget?: Budget): { start: number; end: number } | undefined;
}

type Instruction =
  | { readonly op: 'char'; readonly test: CharTest }
  | { readonly op: 'assert'; readonly assertion: Assertion }
  | { readonly op: 'split'; first: number; second: number }
  | { readonly op: 'jump'; to: number }
  | { readonly op: 'match' };

/** Instructions of one program: what RE2's memory limit allows is of this order. */
const instructionsMax = 20_000;
const cacheEntriesMax = 1024;
const cache = new Map<string, Regex>();

/** @throws RegexSyntaxError where the pattern is not RE2's. */
export function compileRegex(pattern: string): Regex {
  const known = cache.get(pattern);
  if (known !== undefined) return known;
  const program = emit(parseRegex(pattern));
  const regex: Regex = {
    source: pattern,
    test: (text, budget = new Budget()) => run(program, text, 0, budget, true) !== undefined,
    find: (text, from = 0, budget = new Budget()) => run(program, text, from, budget, false),
  };
  if (cache.size >= cacheEntriesMax) cache.clear();
  cache.set(pattern, regex);
  return regex;
}

function emit(root: RegexNode): Instruction[] {
  const program: Instruction[] = [];
  const push = (instruction: Instruction): number => {
    if (program.length >= instructionsMax) throw new BudgetExceeded();
    return program.push(instruction) - 1;
  };
  const split = (lazy: boolean): ((after: number) => void) => {
    const at = push({ op: 'split', first: 0, second: 0 });
    const instruction = program[at] as Extract<Instruction, { op: 'split' }>;
    const body = at + 1;
    instruction.first = body;
    instruction.second = body;
    return (after) => {
      if (lazy) instruction.first = after;
      else instruction.second = after;
    };
  };

  const visit = (node: RegexNode): void => {
    switch (node.kind) {
      case 'empty':
        return;
      case 'char':
        push({ op: 'char', test: node.test });
        return;
      case 'assert':
        push({ op: 'assert', assertion: node.assertion });
        return;
      case 'sequence':
        for (const item of node.items) visit(item);
        return;
      case 'choice':
        visitChoice(node.items);
        return;
      case 'repeat':
        visitRepeat(node);
    }
  };

  const visitChoice = (items: readonly RegexNode[]): void => {
    const exits: Extract<Instruction, { op: 'jump' }>[] = [];
    items.forEach((item, index) => {
      const isLast = index === items.length - 1;
      const setAfter = isLast ? undefined : split(false);
      visit(item);
      if (setAfter === undefined) return;
      const exit: Extract<Instruction, { op: 'jump' }> = { op: 'jump', to: 0 };
      push(exit);
      exits.push(exit);
      setAfter(program.length);
    });
    for (const exit of exits) exit.to = program.length;
  };

  const visitRepeat = ({ item, min, max, lazy }: Extract<RegexNode, { kind: 'repeat' }>): void => {
    for (let count = 0; count < min; count++) visit(item);
    if (max === Number.POSITIVE_INFINITY) {
      const start = program.length;
      const setAfter = split(lazy);
      visit(item);
      push({ op: 'jump', to: start });
      setAfter(program.length);
      return;
    }
    const setters: ((after: number) => void)[] = [];
    for (let count = min; count < max; count++) {
      setters.push(split(lazy));
      visit(item);
    }
    for (const setAfter of setters) setAfter(program.length);
  };

  visit(root);
  push({ op: 'match' });
  return program;
}

/** Threads in order of preference, each instruction at most once. */
class Threads {
  readonly at: number[] = [];
  readonly starts: number[] = [];
  /** Instructions reached since `clear`: what the round costs. */
  visited = 0;
  readonly #seen: Uint32Array;
  #round = 1;

  constructor(size: number) {
    this.#seen = new Uint32Array(size);
  }

  clear(): void {
    this.at.length = 0;
    this.starts.length = 0;
    this.visited = 0;
    this.#round++;
  }

  /** Whether this is the first time since `clear` that the instruction is reached. */
  visit(instruction: number): boolean {
    if (this.#seen[instruction] === this.#round) return false;
    this.#seen[instruction] = this.#round;
    this.visited++;
    return true;
  }
}

function run(
  program: readonly Instruction[],
  text: string,
  from: number,
  budget: Budget,
  anyMatch: boolean,
): { start: number; end: number } | undefined {
  let current = new Threads(program.length);
  let next = new Threads(program.length);
  let found: { start: number; end: number } | undefined;
  let position = from;
  const stack: number[] = [];

  // Follows jumps, splits and assertions from `entry` without recursion: programs can be long.
  const add = (threads: Threads, entry: number, start: number, here: number): void => {
    stack.push(entry);
    while (stack.length > 0) {
      const at = stack.pop() as number;
      if (!threads.visit(at)) continue;
      const instruction = program[at] as Instruction;
      switch (instruction.op) {
        case 'jump':
          stack.push(instruction.to);
          break;
        case 'split':
          stack.push(instruction.second, instruction.first);
          break;
        case 'assert':
          if (holds(instruction.assertion, text, here)) stack.push(at + 1);
          break;
        default:
          threads.at.push(at);
          threads.starts.push(start);
      }
    }
  };

  for (;;) {
    if (found === undefined) add(current, 0, position, position);
    if (current.at.length === 0 && (found !== undefined || position >= text.length)) return found;
    budget.spend(1 + current.visited);
    const codePoint = position < text.length ? (text.codePointAt(position) as number) : -1;
    const width = codePoint > 0xffff ? 2 : 1;
    next.clear();
    for (let index = 0; index < current.at.length; index++) {
      const at = current.at[index] as number;
      const instruction = program[at] as Instruction;
      if (instruction.op === 'match') {
        found = { start: current.starts[index] as number, end: position };
        if (anyMatch) return found;
        break; // Threads after this one are less preferred.
      }
      if (codePoint >= 0 && instruction.op === 'char' && instruction.test(codePoint)) {
        add(next, at + 1, current.starts[index] as number, position + width);
      }
    }
    if (position >= text.length) return found;
    position += width;
    [current, next] = [next, current];
  }
}

function holds(assertion: Assertion, text: string, position: number): boolean {
  switch (assertion) {
    case 'textStart':
      return position === 0;
    case 'textEnd':
      return position === text.length;
    case 'lineStart':
      return position === 0 || text[position - 1] === '\n';
    case 'lineEnd':
      return position === text.length || text[position] === '\n';
    case 'word':
      return atWordBoundary(text, position);
    case 'notWord':
      return !atWordBoundary(text, position);
  }
}

function atWordBoundary(text: string, position: number): boolean {
  const isWord = (at: number) => at >= 0 && at < text.length && isWordCharacter(text.charCodeAt(at));
  return isWord(position - 1) !== isWord(position);
}
