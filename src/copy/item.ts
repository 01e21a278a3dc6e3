import { type ErrorCode, isSluiceError } from '../errors/error.ts';
import type { Digest } from '../oci/digest.ts';

/** One part of a release that could not be had, in words that name image and digest. */
export interface CopyProblem {
  readonly image: string;
  readonly digest: Digest;
  readonly code: ErrorCode;
  readonly message: string;
}

/** A problem of one item, on its way out of nested calls. */
export class ItemError extends Error {
  readonly problem: CopyProblem;
  constructor(problem: CopyProblem, cause: unknown) {
    super(problem.message, { cause });
    this.problem = problem;
  }
}

const itemCodes = [
  'DigestMismatch',
  'ContentMissing',
  'DigestInvalid',
  'InputInvalid',
  'InputTooLarge',
] as const;

/** Runs `work`; what is wrong with the item itself becomes an ItemError, anything else goes on. */
export async function withItem<T>(
  item: { image: string; digest: Digest },
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!isSluiceError(error, ...itemCodes)) throw error;
    const { image, digest } = item;
    const message = error.message.includes(digest) ? error.message : `${digest}: ${error.message}`;
    throw new ItemError({ image, digest, code: error.code, message: `image ${image}: ${message}` }, error);
  }
}
