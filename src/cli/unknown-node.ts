import { SluiceError } from '../errors/error.ts';

const shownMax = 20;

/** The refusal of node names that the cluster does not have: it names those that there are. */
export function noSuchNode(asked: readonly string[], known: Iterable<string>): SluiceError {
  const names = [...known].sort();
  const more = names.length > shownMax ? ` and ${names.length - shownMax} more` : '';
  return new SluiceError('NotFound', `there is no node ${asked.join(', ')}`, {
    next:
      names.length === 0
        ? 'No node reports here yet: sluice node run reports each one (sluice cluster check).'
        : `Use one of: ${names.slice(0, shownMax).join(', ')}${more}.`,
  });
}
