import { SluiceError } from '../errors/error.ts';

/** The body of a request, read field by field: it comes from a browser, so nothing of it is believed. */
export interface Body {
  /** Errors: InputInvalid where it is not a text of at least one character. */
  text(field: string): string;
  optionalText(field: string): string | undefined;
  flag(field: string): boolean;
  /** Errors: InputInvalid where it is not a list of texts. */
  texts(field: string): readonly string[];
}

const charsMax = 4_096;
const entriesMax = 5_000;

/** Errors: InputInvalid where `value` is no object. */
export function readFields(value: unknown): Body {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new SluiceError('InputInvalid', 'the request needs a JSON object');
  }
  const fields = value as Record<string, unknown>;
  const isText = (each: unknown): each is string =>
    typeof each === 'string' && each !== '' && each.length <= charsMax;
  const invalid = (field: string, what: string) =>
    new SluiceError('InputInvalid', `the request needs "${field}" as ${what}`);
  return {
    text(field) {
      const found = fields[field];
      if (!isText(found)) throw invalid(field, 'a text');
      return found;
    },
    optionalText(field) {
      const found = fields[field];
      if (found === undefined || found === null || found === '') return undefined;
      if (!isText(found)) throw invalid(field, 'a text');
      return found;
    },
    flag: (field) => fields[field] === true,
    texts(field) {
      const found = fields[field] ?? [];
      if (!Array.isArray(found) || found.length > entriesMax || !found.every(isText)) {
        throw invalid(field, `a list of at most ${entriesMax} texts`);
      }
      return found;
    },
  };
}
