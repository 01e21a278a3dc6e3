import { SluiceError } from '../errors/error.ts';

/** What to do with media that are not whole. */
export const writeAgain =
  'Write the disk again from its source, or use another copy; do not attach this one.';

/** An image or archive that ends before its end. */
export function notWrittenWhole(label: string, how: string): SluiceError {
  return new SluiceError('MediaUnreadable', `${label} was not written whole: ${how}`, { next: writeAgain });
}
