import type { ASTNode } from '@marcbachmann/cel-js';

/** Where cel-go points for a node: an operator, the dot of a selection, the parenthesis of a call; in UTF-16 units. */
export function positionOf(node: ASTNode): number {
  switch (node.op) {
    case '.':
    case '.?':
      return node.input.lastIndexOf('.', node.pos - 1);
    case '[]':
    case '[?]':
      return afterSpace(node.input, node.args[0].end);
    case 'call':
      return node.input.indexOf('(', node.start);
    case 'rcall':
      return node.input.indexOf('(', afterSpace(node.input, node.args[1].end));
    case 'value':
    case 'id':
    case 'list':
    case 'map':
    case '!_':
    case '-_':
      return node.start;
    default:
      return afterSpace(node.input, node.args[0].end);
  }
}

/** The next character that is no space and closes no parenthesis: those belong to the operand before. */
function afterSpace(input: string, from: number): number {
  let at = from;
  while (at < input.length && /[\s)]/.test(input[at] as string)) at++;
  return at;
}

/** An error with its line and a caret below the place, as cel-go shows it. */
export function shownAt(message: string, input: string, offset: number): string {
  const before = input.slice(0, Math.max(offset, 0));
  const line = before.split('\n').length;
  const start = before.lastIndexOf('\n') + 1;
  const end = input.indexOf('\n', start);
  const text = input.slice(start, end < 0 ? undefined : end);
  const column = [...input.slice(start, Math.max(offset, 0))].length;
  return `ERROR: <input>:${line}:${column + 1}: ${message}\n | ${text}\n | ${'.'.repeat(column)}^`;
}
