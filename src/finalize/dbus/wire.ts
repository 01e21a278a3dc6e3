import { SluiceError } from '../../errors/error.ts';

/** A value with its own type: `v` of the D-Bus specification. */
export interface Variant {
  readonly signature: string;
  readonly value: unknown;
}

export interface Message {
  readonly type: 'call' | 'return' | 'error' | 'signal';
  readonly serial: number;
  readonly replySerial?: number;
  readonly path?: string;
  readonly interface?: string;
  readonly member?: string;
  readonly errorName?: string;
  readonly destination?: string;
  readonly sender?: string;
  readonly signature: string;
  readonly body: readonly unknown[];
  /** A call that wants no answer. */
  readonly noReply?: boolean;
}

/** Bytes of a message; the specification allows 128 MiB, the bus sends us lists of sessions. */
export const messageBytesMax = 4 * 1024 * 1024;
/** Containers within containers; the specification allows 64. */
const depthMax = 32;

const types = ['call', 'return', 'error', 'signal'] as const;
/** Header fields by their code (D-Bus specification, "Message Format"). */
const fields = [
  ['path', 'o'],
  ['interface', 's'],
  ['member', 's'],
  ['errorName', 's'],
  ['replySerial', 'u'],
  ['destination', 's'],
  ['sender', 's'],
  ['signature', 'g'],
] as const;

/** Splits a signature into complete types. Errors: InputInvalid. */
export function splitSignature(signature: string): string[] {
  const parts: string[] = [];
  for (let at = 0; at < signature.length; ) {
    const end = typeEnd(signature, at, 0);
    parts.push(signature.slice(at, end));
    at = end;
  }
  return parts;
}

function typeEnd(signature: string, at: number, depth: number): number {
  if (depth > depthMax) throw invalid('a signature is too deep');
  const first = signature[at];
  if (first === 'a') return typeEnd(signature, at + 1, depth + 1);
  if (first === '(' || first === '{') {
    const close = first === '(' ? ')' : '}';
    let next = at + 1;
    while (signature[next] !== close) next = typeEnd(signature, next, depth + 1);
    return next + 1;
  }
  if (first === undefined || !'ybnqiuxtdsogv'.includes(first))
    throw invalid(`the type '${first}' is not known`);
  return at + 1;
}

function invalid(why: string): SluiceError {
  return new SluiceError('InputInvalid', `D-Bus: ${why}`);
}

function alignmentOf(type: string): number {
  switch (type[0]) {
    case 'n':
    case 'q':
      return 2;
    case 'b':
    case 'i':
    case 'u':
    case 's':
    case 'o':
    case 'a':
      return 4;
    case 'x':
    case 't':
    case 'd':
    case '(':
    case '{':
      return 8;
    default:
      return 1;
  }
}

class Writer {
  private bytes = Buffer.alloc(256);
  length = 0;

  private room(size: number): number {
    const at = this.length;
    this.length += size;
    if (this.length > this.bytes.length) {
      const larger = Buffer.alloc(Math.max(this.bytes.length * 2, this.length));
      this.bytes.copy(larger);
      this.bytes = larger;
    }
    return at;
  }

  align(to: number): void {
    while (this.length % to !== 0) this.bytes[this.room(1)] = 0;
  }

  uint32(value: number): void {
    this.align(4);
    const at = this.room(4);
    this.bytes.writeUInt32LE(value, at);
  }

  write(type: string, value: unknown): void {
    this.align(alignmentOf(type));
    switch (type[0]) {
      case 'y': {
        const at = this.room(1);
        this.bytes[at] = Number(value);
        return;
      }
      case 'b':
        this.uint32(value === true ? 1 : 0);
        return;
      case 'i': {
        const at = this.room(4);
        this.bytes.writeInt32LE(Number(value), at);
        return;
      }
      case 'u':
        this.uint32(Number(value));
        return;
      case 'x': {
        const at = this.room(8);
        this.bytes.writeBigInt64LE(BigInt(value as number), at);
        return;
      }
      case 't': {
        const at = this.room(8);
        this.bytes.writeBigUInt64LE(BigInt(value as number), at);
        return;
      }
      case 's':
      case 'o': {
        const text = Buffer.from(String(value));
        this.uint32(text.length);
        const at = this.room(text.length + 1);
        text.copy(this.bytes, at);
        this.bytes[at + text.length] = 0;
        return;
      }
      case 'g': {
        const text = Buffer.from(String(value));
        const at = this.room(text.length + 2);
        this.bytes[at] = text.length;
        text.copy(this.bytes, at + 1);
        this.bytes[at + 1 + text.length] = 0;
        return;
      }
      case 'v': {
        const { signature, value: inner } = value as Variant;
        this.write('g', signature);
        this.write(signature, inner);
        return;
      }
      case 'a':
        this.array(type.slice(1), value);
        return;
      case '(':
      case '{':
        for (const [index, part] of splitSignature(type.slice(1, -1)).entries()) {
          this.write(part, (value as readonly unknown[])[index]);
        }
        return;
      default:
        throw invalid(`the type '${type}' is not written`);
    }
  }

  private array(element: string, value: unknown): void {
    const items = element.startsWith('{') && !Array.isArray(value) ? Object.entries(value as object) : value;
    const sizeAt = this.length;
    this.uint32(0);
    this.align(alignmentOf(element));
    const start = this.length;
    for (const item of items as Iterable<unknown>) this.write(element, item);
    this.bytes.writeUInt32LE(this.length - start, sizeAt);
  }

  done(): Buffer {
    return this.bytes.subarray(0, this.length);
  }
}

class Reader {
  private readonly bytes: Buffer;
  private readonly little: boolean;
  at: number;

  constructor(bytes: Buffer, little: boolean, at = 0) {
    this.bytes = bytes;
    this.little = little;
    this.at = at;
  }

  align(to: number): void {
    this.at = Math.ceil(this.at / to) * to;
  }

  private take(size: number): number {
    const at = this.at;
    this.at += size;
    if (this.at > this.bytes.length) throw invalid('a message ends too early');
    return at;
  }

  uint32(): number {
    this.align(4);
    const at = this.take(4);
    return this.little ? this.bytes.readUInt32LE(at) : this.bytes.readUInt32BE(at);
  }

  private text(size: number): string {
    const at = this.take(size + 1);
    return this.bytes.toString('utf8', at, at + size);
  }

  read(type: string, depth = 0): unknown {
    if (depth > depthMax) throw invalid('a message is too deep');
    this.align(alignmentOf(type));
    switch (type[0]) {
      case 'y':
        return this.bytes[this.take(1)];
      case 'b':
        return this.uint32() !== 0;
      case 'n': {
        const at = this.take(2);
        return this.little ? this.bytes.readInt16LE(at) : this.bytes.readInt16BE(at);
      }
      case 'q': {
        const at = this.take(2);
        return this.little ? this.bytes.readUInt16LE(at) : this.bytes.readUInt16BE(at);
      }
      case 'i': {
        const at = this.take(4);
        return this.little ? this.bytes.readInt32LE(at) : this.bytes.readInt32BE(at);
      }
      case 'u':
        return this.uint32();
      case 'x': {
        const at = this.take(8);
        return this.little ? this.bytes.readBigInt64LE(at) : this.bytes.readBigInt64BE(at);
      }
      case 't': {
        const at = this.take(8);
        return this.little ? this.bytes.readBigUInt64LE(at) : this.bytes.readBigUInt64BE(at);
      }
      case 'd': {
        const at = this.take(8);
        return this.little ? this.bytes.readDoubleLE(at) : this.bytes.readDoubleBE(at);
      }
      case 's':
      case 'o':
        return this.text(this.uint32());
      case 'g':
        return this.text(this.bytes[this.take(1)] ?? 0);
      case 'v': {
        const signature = this.read('g') as string;
        const value = this.read(signature, depth + 1);
        return { signature, value } satisfies Variant;
      }
      case 'a': {
        const size = this.uint32();
        const element = type.slice(1);
        this.align(alignmentOf(element));
        const end = this.at + size;
        if (end > this.bytes.length) throw invalid('an array ends too late');
        const items: unknown[] = [];
        while (this.at < end) items.push(this.read(element, depth + 1));
        return items;
      }
      default:
        return splitSignature(type.slice(1, -1)).map((part) => this.read(part, depth + 1));
    }
  }
}

/** A message as bytes, little endian. */
export function encodeMessage(message: Omit<Message, 'sender'>): Buffer {
  const body = new Writer();
  for (const [index, part] of splitSignature(message.signature).entries())
    body.write(part, message.body[index]);
  const head = new Writer();
  const values = message as unknown as Record<string, unknown>;
  const set = fields.flatMap(([name, signature], index) => {
    const value = values[name];
    return value === undefined || value === '' ? [] : [[index + 1, { signature, value }]];
  });
  head.write('y', 'l'.charCodeAt(0));
  head.write('y', types.indexOf(message.type) + 1);
  head.write('y', message.noReply === true ? 1 : 0);
  head.write('y', 1);
  head.uint32(body.length);
  head.uint32(message.serial);
  head.write('a(yv)', set);
  head.align(8);
  return Buffer.concat([head.done(), body.done()]);
}

/** Bytes of the message that begins here; undefined while that is not known. Errors: InputTooLarge. */
export function messageLength(bytes: Buffer): number | undefined {
  if (bytes.length < 16) return undefined;
  const reader = new Reader(bytes, bytes[0] === 0x6c, 4);
  const body = reader.uint32();
  reader.uint32();
  const head = 16 + Math.ceil(reader.uint32() / 8) * 8;
  const length = head + body;
  if (length > messageBytesMax) {
    throw new SluiceError('InputTooLarge', `D-Bus: a message has more than ${messageBytesMax} bytes`);
  }
  return length;
}

/** Reads one whole message. Errors: InputInvalid. */
export function decodeMessage(bytes: Buffer): Message {
  const little = bytes[0] === 0x6c;
  const type = types[(bytes[1] ?? 0) - 1];
  if (type === undefined) throw invalid(`the message type ${bytes[1]} is not known`);
  const reader = new Reader(bytes, little, 8);
  const serial = reader.uint32();
  const found: Record<string, unknown> = {};
  for (const [code, { value }] of reader.read('a(yv)') as [number, Variant][]) {
    const name = fields[code - 1]?.[0];
    if (name !== undefined) found[name] = value;
  }
  reader.align(8);
  const signature = (found.signature as string | undefined) ?? '';
  const body = splitSignature(signature).map((part) => reader.read(part));
  return { ...found, type, serial, signature, body, noReply: ((bytes[2] ?? 0) & 1) !== 0 };
}
