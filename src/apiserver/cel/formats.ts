import { hasFormat, isDate, isDateTime } from '../schema/formats.ts';
import {
  label1035Problems,
  labelProblems,
  labelValueProblems,
  maskTrailingDash,
  qualifiedNameProblems,
  subdomainProblems,
} from '../schema/names.ts';

const unless = (holds: boolean, problem: string): string[] => (holds ? [] : [problem]);

/** The formats of Kubernetes' format library (apiserver, cel/library/format.go): what is wrong with a text. */
export const namedFormats: Readonly<Record<string, (text: string) => string[]>> = {
  dns1123Label: labelProblems,
  dns1123Subdomain: subdomainProblems,
  dns1035Label: label1035Problems,
  dns1123LabelPrefix: (text) => labelProblems(maskTrailingDash(text)),
  dns1123SubdomainPrefix: (text) => subdomainProblems(maskTrailingDash(text)),
  dns1035LabelPrefix: (text) => label1035Problems(maskTrailingDash(text)),
  qualifiedName: qualifiedNameProblems,
  labelValue: labelValueProblems,
  uri: (text) => unless(hasFormat('uri', text), `parse ${JSON.stringify(text)}: invalid URI for request`),
  uuid: (text) => unless(hasFormat('uuid', text), 'does not match the UUID format'),
  byte: (text) => unless(hasFormat('byte', text), 'invalid base64'),
  date: (text) => unless(isDate(text), 'invalid date'),
  datetime: (text) => unless(isDateTime(text), 'invalid datetime'),
};

export function formatProblems(name: string, text: string): string[] {
  return namedFormats[name]?.(text) ?? [];
}
