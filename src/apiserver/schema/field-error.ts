import { counted } from '../../observe/count.ts';
import type { JsonValue } from './json.ts';

/** The reasons of `metav1.StatusCause` (k8s.io/apimachinery, field.ErrorType). */
export type FieldErrorType =
  | 'FieldValueNotFound'
  | 'FieldValueRequired'
  | 'FieldValueDuplicate'
  | 'FieldValueInvalid'
  | 'FieldValueNotSupported'
  | 'FieldValueForbidden'
  | 'FieldValueTooLong'
  | 'FieldValueTooMany'
  | 'FieldValueTypeInvalid';

/** One thing that is wrong with one field of an object; `field` is a path such as `spec.ports[0].name`. */
export interface FieldError {
  readonly type: FieldErrorType;
  readonly field: string;
  readonly value?: JsonValue | undefined;
  readonly detail: string;
}

const words: Record<FieldErrorType, string> = {
  FieldValueNotFound: 'Not found',
  FieldValueRequired: 'Required value',
  FieldValueDuplicate: 'Duplicate value',
  FieldValueInvalid: 'Invalid value',
  FieldValueNotSupported: 'Unsupported value',
  FieldValueForbidden: 'Forbidden',
  FieldValueTooLong: 'Too long',
  FieldValueTooMany: 'Too many',
  FieldValueTypeInvalid: 'Invalid value',
};

/** Longest rendering of a bad value in a message, in characters; the rest is left out. */
const renderedValueMax = 1024;

/** The message without the field (`Required value: …`), as field.Error.ErrorBody of apimachinery. */
export function errorBody(error: FieldError): string {
  const word = words[error.type];
  const shown = showsValue(error) ? `${word}: ${render(error.value)}` : word;
  return error.detail === '' ? shown : `${shown}: ${error.detail}`;
}

function showsValue(error: FieldError): boolean {
  switch (error.type) {
    case 'FieldValueRequired':
    case 'FieldValueForbidden':
    case 'FieldValueTooLong':
      return false;
    default:
      return true;
  }
}

function render(value: JsonValue | undefined): string {
  const text = value === undefined ? 'null' : JSON.stringify(value);
  return text.length > renderedValueMax ? `${text.slice(0, renderedValueMax)}…` : text;
}

/** One error as people read it: `spec.replicas: Invalid value: -1: must be …`. */
export function errorText(error: FieldError): string {
  return `${error.field}: ${errorBody(error)}`;
}

export function required(field: string, detail = ''): FieldError {
  return { type: 'FieldValueRequired', field, detail };
}

export function invalid(field: string, value: JsonValue | undefined, detail: string): FieldError {
  return { type: 'FieldValueInvalid', field, value, detail };
}

export function typeInvalid(field: string, value: JsonValue | undefined, detail: string): FieldError {
  return { type: 'FieldValueTypeInvalid', field, value, detail };
}

export function forbidden(field: string, detail: string): FieldError {
  return { type: 'FieldValueForbidden', field, detail };
}

export function duplicate(field: string, value: JsonValue): FieldError {
  return { type: 'FieldValueDuplicate', field, value, detail: '' };
}

export function tooLong(field: string, max: number): FieldError {
  return {
    type: 'FieldValueTooLong',
    field,
    detail: `may not be more than ${counted(max, 'byte')}`,
  };
}

export function tooMany(field: string, value: number, max: number): FieldError {
  return {
    type: 'FieldValueTooMany',
    field,
    value,
    detail: `must have at most ${counted(max, 'item')}`,
  };
}

export function notSupported(field: string, value: JsonValue, allowed: readonly JsonValue[]): FieldError {
  const texts = allowed.map((entry) => (typeof entry === 'string' ? entry : JSON.stringify(entry)));
  const list = texts.map((text) => JSON.stringify(text)).join(', ');
  return { type: 'FieldValueNotSupported', field, value, detail: `supported values: ${list}` };
}

/** `base.name`, or `base[key]` where the name is no plain identifier path segment. */
export function childPath(base: string, name: string): string {
  return base === '' ? name : `${base}.${name}`;
}

export function indexPath(base: string, index: number): string {
  return `${base}[${index}]`;
}

export function keyPath(base: string, key: string): string {
  return `${base}[${key}]`;
}
