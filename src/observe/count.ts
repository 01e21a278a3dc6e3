/** A number with its noun, for a person: `1 node`, `3 nodes`. @param many where the plural is more than an added s. */
export function counted(number: number, one: string, many = `${one}s`): string {
  return `${number} ${number === 1 ? one : many}`;
}
