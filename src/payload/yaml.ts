import { Lexer, parseAllDocuments } from 'yaml';
import { SluiceError } from '../errors/error.ts';
import { parseStrictJson } from '../oci/json.ts';

/** Bytes of one manifest file. */
export const manifestFileBytesMax = 4 * 1024 * 1024;
const documentsMax = 500;
/** Times that anchors may be repeated in one file; CRDs use a few. */
const aliasesMax = 100;
const depthMax = 64;

/** What YAML 1.1 has and the parser behind kubectl has not: there dates and `22:22` stay texts. */
const unreadTags = /:(?:timestamp|omap|pairs|set|binary)$/;

/**
 * The documents of a YAML or JSON file, empty and `null` ones left out, read as kubectl reads them: by the rules
 * of YAML 1.1 (`yes` is a boolean, `012` is ten), except where its parser (sigs.k8s.io/yaml) departs from them.
 *
 * Errors: InputInvalid with line and column, InputTooLarge.
 */
export function parseYamlDocuments(bytes: Uint8Array, where: string): unknown[] {
  if (bytes.length > manifestFileBytesMax) {
    throw new SluiceError(
      'InputTooLarge',
      `${where} has ${bytes.length} bytes, more than ${manifestFileBytesMax}`,
    );
  }
  const text = Buffer.from(bytes).toString('utf8');
  // A JSON file is YAML too, but the real parser of JSON is many times faster, and stricter.
  if (/^\s*\{\s*["}]/.test(text)) return [checkValue(parseStrictJson(bytes, where), where)];
  const values: unknown[] = [];
  for (const document of readDocuments(text, where)) {
    const error = document.errors[0];
    if (error !== undefined) throw invalid(where, error.message);
    let value: unknown;
    try {
      value = document.toJS({ maxAliasCount: aliasesMax });
    } catch (cause) {
      throw invalid(where, (cause as Error).message, cause);
    }
    if (value !== null && value !== undefined) values.push(checkValue(value, where));
  }
  return values;
}

/** What the lexer says besides the text: a document begins, a scalar follows, a flow collection ends too early. */
const lexerMarks = new Set(['\u0002', '\u001f', '\u0018']);

/** Offsets of `,`, `]` and `}` that end an entry or a collection in flow style: those inside scalars are not among them. */
export function flowEnds(text: string): Set<number> {
  const ends = new Set<number>();
  let offset = 0;
  let isScalar = false;
  for (const token of new Lexer().lex(text)) {
    if (!isScalar && lexerMarks.has(token)) {
      isScalar = token === '\u001f';
      continue;
    }
    if (!isScalar && (token === ',' || token === ']' || token === '}')) ends.add(offset);
    isScalar = false;
    offset += token.length;
  }
  return ends;
}

function readDocuments(text: string, where: string) {
  const documents = parseAllDocuments(text, {
    version: '1.1',
    uniqueKeys: true,
    stringKeys: false,
    logLevel: 'silent',
    customTags: (tags) =>
      tags.filter(
        (tag) => typeof tag === 'string' || !(unreadTags.test(tag.tag) || formatOf(tag) === 'TIME'),
      ),
  });
  const list = Array.isArray(documents) ? documents : [];
  if (list.length > documentsMax) {
    throw new SluiceError('InputTooLarge', `${where} has more than ${documentsMax} documents`);
  }
  return list;
}

function formatOf(tag: object): unknown {
  return 'format' in tag ? tag.format : undefined;
}

/** Holds a value to what JSON can carry, and to a depth. */
function checkValue(value: unknown, where: string, depth = 0): unknown {
  if (depth > depthMax) throw new SluiceError('InputTooLarge', `${where} is nested deeper than ${depthMax}`);
  if (typeof value === 'number' && !Number.isFinite(value))
    throw invalid(where, 'a number is infinite or none');
  if (typeof value !== 'object' || value === null) return value;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (!Array.isArray(value) && prototype !== Object.prototype)
    throw invalid(where, 'a value is of a kind that JSON lacks');
  for (const child of Object.values(value)) checkValue(child, where, depth + 1);
  return value;
}

function invalid(where: string, message: string, cause?: unknown): SluiceError {
  const line = (message.split('\n')[0] ?? '').replace(/:$/, '');
  return new SluiceError('InputInvalid', `${where} is not YAML that can be read: ${line}`, { cause });
}
