import { shippedText } from '../../program/files.ts';
import { isRecord, type JsonRecord, type KubeObject } from '../object.ts';
import { badRequest, unsupportedMediaType } from '../status.ts';

/**
 * A field of a message: number, JSON name, type and flags (`*` repeated, `<` its members belong to the object around
 * it, `?` left out when empty). Types: string, bytes, bool, int, double, time, microtime, duration, quantity,
 * intorstring, raw, items, `map:<type>`, or the name of a message.
 */
export type Field = readonly [number: number, json: string, type: string, flags: string];

export interface Messages {
  /** `group/version/kind` → message. */
  readonly roots: Readonly<Record<string, string>>;
  readonly messages: Readonly<Record<string, readonly Field[]>>;
}

/** What every protobuf body of Kubernetes starts with (apimachinery, runtime/serializer/protobuf). */
const magic = Buffer.from([0x6b, 0x38, 0x73, 0x00]);
const depthMax = 64;

let table: { messages: Messages; byNumber: Map<string, Map<number, Field>> } | undefined;

function loadTable() {
  if (table === undefined) {
    const messages = JSON.parse(shippedText('src/apiserver/protobuf/messages.json')) as Messages;
    const byNumber = new Map(
      Object.entries(messages.messages).map(([name, fields]) => [
        name,
        new Map(fields.map((field) => [field[0], field])),
      ]),
    );
    table = { messages, byNumber };
  }
  return table;
}

/**
 * Reads an object that a client sent as protobuf, as the JSON it stands for. Only the kinds that kubectl sends so
 * are known.
 * @throws 400 where the bytes are no such object, 415 where the kind is not known
 */
export function decodeProtobuf(bytes: Uint8Array): KubeObject {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (!buffer.subarray(0, magic.length).equals(magic))
    throw badRequest('the body is no protobuf of Kubernetes');
  const { apiVersion, kind, raw } = readEnvelope(buffer.subarray(magic.length));
  const { messages } = loadTable();
  // Options are sent under the version of whatever they are for.
  const root = messages.roots[`${apiVersion}/${kind}`] ?? messages.roots[kind];
  if (root === undefined) {
    throw unsupportedMediaType(
      `${kind} in version ${JSON.stringify(apiVersion)} is not read as application/vnd.kubernetes.protobuf: ` +
        'send it as application/json',
    );
  }
  return { apiVersion, kind, ...readMessage(raw, root, 0) } as KubeObject;
}

/** runtime.Unknown: typeMeta = 1 {apiVersion = 1, kind = 2}, raw = 2. */
function readEnvelope(buffer: Buffer): { apiVersion: string; kind: string; raw: Buffer } {
  let apiVersion = '';
  let kind = '';
  let raw: Buffer = Buffer.alloc(0);
  for (const [number, value] of fieldsOf(buffer)) {
    if (number === 2) raw = bytesOf(value);
    if (number !== 1) continue;
    for (const [inner, text] of fieldsOf(bytesOf(value))) {
      if (inner === 1) apiVersion = bytesOf(text).toString('utf8');
      if (inner === 2) kind = bytesOf(text).toString('utf8');
    }
  }
  return { apiVersion, kind, raw };
}

type Value = Buffer | bigint;

/** The fields of a message in order; lengths and groups are checked. */
function* fieldsOf(buffer: Buffer): Generator<[number: number, value: Value]> {
  let at = 0;
  const varint = (): bigint => {
    let result = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = buffer[at];
      if (byte === undefined) throw badRequest('the protobuf body ends too early');
      at += 1;
      result |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asUintN(64, result);
    }
    throw badRequest('the protobuf body has a number that is too long');
  };
  while (at < buffer.length) {
    const tag = Number(varint());
    const wire = tag & 7;
    if (wire === 0) {
      yield [tag >>> 3, varint()];
      continue;
    }
    const length = wire === 2 ? Number(varint()) : wire === 1 ? 8 : wire === 5 ? 4 : -1;
    if (length < 0 || at + length > buffer.length) throw badRequest('the protobuf body is damaged');
    yield [tag >>> 3, buffer.subarray(at, at + length)];
    at += length;
  }
}

function bytesOf(value: Value): Buffer {
  if (typeof value === 'bigint') throw badRequest('the protobuf body has a number where bytes belong');
  return value;
}

function numberOf(value: Value): number {
  if (typeof value !== 'bigint') throw badRequest('the protobuf body has bytes where a number belongs');
  return Number(BigInt.asIntN(64, value));
}

function readMessage(buffer: Buffer, name: string, depth: number): JsonRecord {
  if (depth > depthMax) throw badRequest(`the body is nested deeper than ${depthMax} levels`);
  const fields = loadTable().byNumber.get(name);
  const result: JsonRecord = {};
  for (const [number, value] of fieldsOf(buffer)) {
    const field = fields?.get(number);
    if (field === undefined) continue; // Of a newer version: unknown fields are dropped, as the real server does.
    const [, json, type, flags] = field;
    if (type.startsWith('map:')) {
      const [key, entry] = readEntry(bytesOf(value), type.slice('map:'.length), depth);
      const map = isRecord(result[json]) ? result[json] : {};
      result[json] = { ...map, [key]: entry };
      continue;
    }
    const read = readValue(value, type, depth);
    if (flags.includes('*')) {
      const list = result[json];
      if (Array.isArray(list)) list.push(read);
      else result[json] = [read];
    } else if (flags.includes('<') && isRecord(read)) Object.assign(result, read);
    else if (!(flags.includes('?') && isEmpty(read)) && read !== undefined) result[json] = read;
  }
  return result;
}

function isEmpty(value: unknown): boolean {
  return value === '' || value === 0 || value === false || value === null || value === undefined;
}

function readEntry(buffer: Buffer, type: string, depth: number): [key: string, value: unknown] {
  let key = '';
  let value: unknown;
  for (const [number, inner] of fieldsOf(buffer)) {
    if (number === 1) key = bytesOf(inner).toString('utf8');
    if (number === 2) value = readValue(inner, type, depth);
  }
  return [key, value ?? ''];
}

function readValue(value: Value, type: string, depth: number): unknown {
  switch (type) {
    case 'string':
      return bytesOf(value).toString('utf8');
    case 'bytes':
      return bytesOf(value).toString('base64');
    case 'bool':
      return numberOf(value) !== 0;
    case 'int':
      return numberOf(value);
    case 'double':
      if (bytesOf(value).length !== 8) throw badRequest('the protobuf body has a number of a wrong length');
      return bytesOf(value).readDoubleLE(0);
    case 'time':
    case 'microtime':
      return readTime(bytesOf(value), type === 'microtime');
    case 'duration':
      return `${numberField(bytesOf(value), 1) / 1e9}s`;
    case 'quantity':
      return textField(bytesOf(value), 1);
    case 'intorstring':
      return numberField(bytesOf(value), 1) === 0
        ? numberField(bytesOf(value), 2)
        : textField(bytesOf(value), 3);
    case 'items':
      return [...fieldsOf(bytesOf(value))].map(([, item]) => bytesOf(item).toString('utf8'));
    case 'raw':
      return readRaw(bytesOf(value));
    default:
      return readMessage(bytesOf(value), type, depth + 1);
  }
}

/** The zero time of Go, in the year 1, and the end of what RFC 3339 can write. */
const zeroTimeSeconds = -62_135_596_800;
const lastTimeSeconds = 253_402_300_799;

/** RFC 3339; null for the zero time, which is how an absent one is sent. */
function readTime(buffer: Buffer, micro: boolean): string | null {
  const seconds = numberField(buffer, 1);
  const nanos = numberField(buffer, 2);
  if (seconds <= zeroTimeSeconds || (seconds === 0 && nanos === 0)) return null;
  if (seconds > lastTimeSeconds) throw badRequest('the protobuf body has a time after the year 9999');
  const text = new Date(seconds * 1000).toISOString().slice(0, 19);
  return micro ? `${text}.${String(Math.floor(nanos / 1000)).padStart(6, '0')}Z` : `${text}Z`;
}

function readRaw(buffer: Buffer): unknown {
  const raw = [...fieldsOf(buffer)].find(([number]) => number === 1)?.[1];
  if (raw === undefined) return undefined;
  try {
    return JSON.parse(bytesOf(raw).toString('utf8'));
  } catch {
    throw badRequest('the protobuf body embeds something that is no JSON');
  }
}

function numberField(buffer: Buffer, wanted: number): number {
  let found = 0;
  for (const [number, value] of fieldsOf(buffer)) if (number === wanted) found = numberOf(value);
  return found;
}

function textField(buffer: Buffer, wanted: number): string {
  let found = '';
  for (const [number, value] of fieldsOf(buffer))
    if (number === wanted) found = bytesOf(value).toString('utf8');
  return found;
}
