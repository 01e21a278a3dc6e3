import { type Code, mismatch } from './code.ts';
import { noOverload } from './operators.ts';
import { accepts, describeTyping, dyn, type Typing } from './typing.ts';
import { CelError, CelList, CelMap, type CelValue, mapKey, Opaque, Optional } from './values.ts';

/** `target.name`, and `target.?name` where `optional`. */
export function select(target: Code, name: string, optional: boolean): Code {
  const viaOptional = target.typing.name === 'optional';
  const typing = fieldTyping(viaOptional ? (target.typing.item ?? dyn) : target.typing, name);
  if (optional || viaOptional) {
    return {
      typing: { name: 'optional', item: typing },
      run: (frame) => optionalField(target.run(frame), name),
    };
  }
  return {
    typing,
    run: (frame) => {
      const container = target.run(frame);
      return container instanceof Optional ? optionalField(container, name) : fieldOf(container, name);
    },
  };
}

/** What is known of a field. @throws CelError where there is no such field. */
export function fieldTyping(from: Typing, name: string): Typing {
  if (from.fields !== undefined) {
    const field = from.fields().get(name);
    if (field === undefined) throw new CelError(`undefined field '${name}'`);
    return field.typing;
  }
  if (from.name === 'map') return from.item ?? dyn;
  if (from.name === 'dyn') return dyn;
  throw new CelError(`type '${describeTyping(from)}' does not support field selection`);
}

function fieldOf(container: CelValue, name: CelValue): CelValue {
  const value =
    container instanceof CelMap
      ? container.get(name)
      : container instanceof Opaque && typeof name === 'string'
        ? container.field(name)
        : undefined;
  if (value === undefined && !(container instanceof CelMap)) throw noOverload();
  if (value === undefined) throw new CelError(`no such key: ${String(name)}`);
  return value;
}

function optionalField(container: CelValue, key: CelValue): Optional {
  const inner = container instanceof Optional ? container.value : container;
  if (inner === undefined) return new Optional(undefined);
  if (inner instanceof CelMap) return new Optional(inner.get(key));
  if (inner instanceof CelList) return new Optional(inner.items[listIndex(key) ?? -1]);
  throw noOverload();
}

const intTyping: Typing = { name: 'int' };
const stringTyping: Typing = { name: 'string' };

/** `target[key]`, and `target[?key]` where `optional`. */
export function index(target: Code, key: Code, optional: boolean): Code {
  const viaOptional = target.typing.name === 'optional';
  const container = viaOptional ? (target.typing.item ?? dyn) : target.typing;
  const wanted = { list: intTyping, map: stringTyping, dyn }[container.name];
  if (wanted === undefined || !accepts(wanted, key.typing))
    throw mismatch(optional ? '_[?_]' : '_[_]', target, key);
  const typing = container.item ?? dyn;
  if (optional || viaOptional) {
    return {
      typing: { name: 'optional', item: typing },
      run: (frame) => optionalField(target.run(frame), key.run(frame)),
    };
  }
  return {
    typing,
    run: (frame) => {
      const from = target.run(frame);
      const at = key.run(frame);
      if (!(from instanceof CelList)) return fieldOf(from, at);
      const position = listIndex(at);
      if (position === undefined) throw noOverload();
      const item = from.items[position];
      if (item === undefined) throw new CelError(`index out of bounds: ${position}`);
      return item;
    },
  };
}

function listIndex(key: CelValue): number | undefined {
  const whole = mapKey(key);
  return typeof whole === 'bigint' ? Number(whole) : undefined;
}
