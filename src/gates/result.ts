import { createHash } from 'node:crypto';
import { messageOf, SluiceError } from '../errors/error.ts';
import { findingNameCharsMax, isFindingName, type Severity } from './finding.ts';

/** One risk as a check reports it. */
export interface CheckRisk {
  readonly name: string;
  readonly severity: Severity;
  readonly message: string;
  readonly next?: string;
  readonly url?: string;
  /** Evidence: what it looked at, as `configmap/namespace/name`. */
  readonly objects: readonly string[];
}

/** The document that a check writes on standard output (docs/preflight.md). */
export interface CheckDocument {
  readonly runID: string;
  readonly check: string;
  readonly targetDigest: string;
  /** One sentence: what was looked at. */
  readonly message: string;
  readonly risks: readonly CheckRisk[];
}

/** What the document must be bound to, so that no other run's answer is taken for this one's. */
export interface CheckIdentity {
  readonly runID: string;
  readonly check: string;
  readonly targetDigest: string;
}

export const documentBytesMax = 256 * 1024;
const risksMax = 100;
const messageCharsMax = 4096;
const objectsMax = 50;
const severities: readonly Severity[] = ['blocking', 'warning', 'info'];

const header = /^SLUICE-RESULT v1 (\d{1,9}) ([0-9a-f]{64})$/;

/**
 * Finds the framed result in what a check wrote: a line `SLUICE-RESULT v1 <bytes> <sha256 hex>`, then that many
 * bytes of JSON and a newline. Lines around it are the check's own talk. Length and hash prove that nothing was
 * cut off or rotated away; a second frame is refused, since it is not known which one is meant.
 *
 * Errors: InputInvalid, InputTooLarge.
 */
export function parseCheckOutput(output: Uint8Array, identity: CheckIdentity): CheckDocument {
  const bytes = Buffer.from(output.buffer, output.byteOffset, output.byteLength);
  const frames = findFrames(bytes);
  const [frame] = frames;
  if (frame === undefined) throw invalid('its output holds no line "SLUICE-RESULT v1 <bytes> <sha256>"');
  if (frames.length > 1) throw invalid(`its output holds ${frames.length} result documents`);
  if (frame.length > documentBytesMax) {
    throw new SluiceError(
      'InputTooLarge',
      `its result document of ${frame.length} bytes is over the limit of ${documentBytesMax}`,
    );
  }
  const body = bytes.subarray(frame.start, frame.start + frame.length);
  if (body.length < frame.length) {
    throw invalid(`its result document was cut off after ${body.length} of ${frame.length} bytes`);
  }
  if (createHash('sha256').update(body).digest('hex') !== frame.sha256) {
    throw invalid('its result document does not have the hash that its first line names');
  }
  return readDocument(body, identity);
}

interface Frame {
  start: number;
  length: number;
  sha256: string;
}

function findFrames(bytes: Buffer): Frame[] {
  const frames: Frame[] = [];
  let at = 0;
  while (at < bytes.length) {
    const found = bytes.indexOf('SLUICE-RESULT v1 ', at, 'latin1');
    if (found === -1) break;
    const end = bytes.indexOf(0x0a, found);
    const line = bytes.toString('latin1', found, end === -1 ? bytes.length : end).replace(/\r$/, '');
    const match = header.exec(line);
    const atLineStart = found === 0 || bytes[found - 1] === 0x0a;
    if (match === null || !atLineStart) {
      at = found + 1;
      continue;
    }
    const start = end === -1 ? bytes.length : end + 1;
    const length = Number(match[1]);
    frames.push({ start, length, sha256: match[2] ?? '' });
    at = start + length;
  }
  return frames;
}

function readDocument(body: Buffer, identity: CheckIdentity): CheckDocument {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch (error) {
    throw invalid(`its result document is not JSON: ${messageOf(error)}`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalid('its result document is not an object');
  }
  const fields = value as Record<string, unknown>;
  for (const key of ['runID', 'check', 'targetDigest'] as const) {
    if (fields[key] !== identity[key]) {
      throw invalid(
        `its result document is for ${key} ${quote(fields[key])}, and this is ${quote(identity[key])}`,
      );
    }
  }
  const risks = fields.risks ?? [];
  if (!Array.isArray(risks)) throw invalid('its "risks" are not a list');
  if (risks.length > risksMax) throw invalid(`it names ${risks.length} risks, more than ${risksMax}`);
  return {
    ...identity,
    message: cleanText(fields.message ?? ''),
    risks: risks.map((risk, index) => readRisk(risk, index)),
  };
}

function readRisk(value: unknown, index: number): CheckRisk {
  if (typeof value !== 'object' || value === null) throw invalid(`risks[${index}] is not an object`);
  const fields = value as Record<string, unknown>;
  if (typeof fields.name !== 'string' || !isFindingName(fields.name)) {
    throw invalid(
      `risks[${index}].name ${quote(fields.name)} is no name such as "DualStackIncompatible" of at most ${findingNameCharsMax} characters`,
    );
  }
  // A risk that does not say how bad it is holds the update.
  const severity = fields.severity ?? 'blocking';
  if (!severities.includes(severity as Severity)) {
    throw invalid(`risks[${index}].severity ${quote(severity)} is none of ${severities.join(', ')}`);
  }
  const message = cleanText(fields.message);
  if (message === '') throw invalid(`risks[${index}] has no message`);
  const objects = fields.objects ?? [];
  if (!Array.isArray(objects)) throw invalid(`risks[${index}].objects is not a list`);
  return {
    name: fields.name,
    severity: severity as Severity,
    message,
    objects: objects.slice(0, objectsMax).map((object) => cleanText(object)),
    ...(typeof fields.next === 'string' ? { next: cleanText(fields.next) } : {}),
    ...(typeof fields.url === 'string' ? { url: cleanText(fields.url) } : {}),
  };
}

/**
 * Foreign words as a status may hold them: well-formed Unicode, no control characters but line breaks, of
 * bounded length.
 */
export function cleanText(value: unknown, charsMax: number = messageCharsMax): string {
  const text = typeof value === 'string' ? value : value === undefined || value === null ? '' : String(value);
  const plain = text
    .toWellFormed()
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is removed
    .replace(/[\u0000-\u0009\u000b-\u001f\u007f]/g, ' ')
    .trim();
  return plain.length <= charsMax ? plain : `${plain.slice(0, charsMax - 1).toWellFormed()}…`;
}

function quote(value: unknown): string {
  return JSON.stringify(value === undefined ? null : value).slice(0, 100);
}

function invalid(message: string): SluiceError {
  return new SluiceError('InputInvalid', message);
}
