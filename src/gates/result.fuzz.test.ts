import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { checkOutcome } from './check.ts';
import { isFindingName } from './finding.ts';

/** Documents that are tried; each is a mutation of an answer that would be a pass or a risk. */
const documents = Number(process.env.SLUICE_FUZZ ?? 1_000_000);

const identity = { runID: 'run0run0', check: 'demo-check', targetDigest: `sha256:${'a'.repeat(64)}` };
const risk = { name: 'LegacyMode', severity: 'warning', message: 'old', objects: ['configmap/a/b'] };
const seeds = [
  { ...identity, message: 'nothing found', risks: [] },
  { ...identity, message: 'nothing found' },
  { ...identity, message: 'a warning', risks: [risk] },
  { ...identity, message: 'it blocks', risks: [{ ...risk, severity: 'blocking' }] },
].map((document) => Buffer.from(JSON.stringify(document)));
const words = [
  '"risks":[',
  '[]',
  '{}',
  'null',
  '\u0000',
  '\ufffd',
  '"',
  '\\',
  '\n',
  'SLUICE-RESULT v1 ',
  '__proto__',
  '1e999',
];

/** The same numbers for the same seed (mulberry32). */
function numbers(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let value = Math.imul(state ^ (state >>> 15), 1 | state);
    value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value;
    return ((value ^ (value >>> 14)) >>> 0) % below;
  };
}

function mutated(bytes: Buffer, next: (below: number) => number): Buffer {
  const at = next(bytes.length + 1);
  switch (next(6)) {
    case 0: {
      const copy = Buffer.from(bytes);
      if (copy.length > 0) copy[Math.min(at, copy.length - 1)] = next(256);
      return copy;
    }
    case 1:
      return bytes.subarray(0, at);
    case 2:
      return Buffer.concat([
        bytes.subarray(0, at),
        Buffer.from(words[next(words.length)] ?? ''),
        bytes.subarray(at),
      ]);
    case 3: {
      const end = Math.min(bytes.length, at + 1 + next(20));
      return Buffer.concat([bytes.subarray(0, at), bytes.subarray(end)]);
    }
    case 4:
      return Buffer.concat([bytes, bytes.subarray(at)]);
    default:
      return bytes;
  }
}

function framed(body: Buffer): Buffer {
  const hash = createHash('sha256').update(body).digest('hex');
  return Buffer.concat([Buffer.from(`SLUICE-RESULT v1 ${body.length} ${hash}\n`), body, Buffer.from('\n')]);
}

/** Whether the output proves a pass, read in the plainest way: written apart from the parser that is tried. */
function provesPass(output: Buffer): boolean {
  const text = output.toString('latin1');
  const headers = [...text.matchAll(/(?:^|\n)SLUICE-RESULT v1 (\d{1,9}) ([0-9a-f]{64})\r?\n/g)];
  return headers.some((header) => {
    const start = (header.index ?? 0) + header[0].length;
    const body = output.subarray(start, start + Number(header[1]));
    if (body.length !== Number(header[1])) return false;
    if (createHash('sha256').update(body).digest('hex') !== header[2]) return false;
    const value = JSON.parse(body.toString('utf8'));
    return (
      value.runID === identity.runID &&
      value.check === identity.check &&
      value.targetDigest === identity.targetDigest &&
      (value.risks === undefined || value.risks === null || value.risks.length === 0)
    );
  });
}

test(`${documents} mutated documents: never an exception, never a pass without evidence`, () => {
  const next = numbers(20260101);
  const counts: Record<string, number> = {};
  for (let index = 0; index < documents; index += 1) {
    const seed = seeds[next(seeds.length)] ?? Buffer.alloc(0);
    // Half are mutated before they are framed, so that their hash is right and what is inside is tried.
    const body = next(2) === 0 ? mutated(seed, next) : seed;
    let output = framed(body);
    for (let times = next(3); times > 0; times -= 1) output = mutated(output, next);
    const exitCode = next(8) === 0 ? next(256) : next(2) * 3;
    const seen = checkOutcome({
      identity,
      now: 1000,
      deadline: 60_000,
      jobWasSeen: true,
      job: {
        name: 'j',
        createdAt: 0,
        conditions: [{ type: exitCode === 0 ? 'Complete' : 'Failed', status: 'True' }],
      },
      pods: [
        {
          name: 'p',
          createdAt: 0,
          scheduledAt: 0,
          phase: exitCode === 0 ? 'Succeeded' : 'Failed',
          containers: [{ name: 'c', init: false, terminated: { exitCode, reason: '', message: '' } }],
        },
      ],
      events: [],
      log: { bytes: output },
    });
    counts[seen.result] = (counts[seen.result] ?? 0) + 1;
    if (seen.result === 'Passed') assert.ok(exitCode === 0 && provesPass(output), output.toString('latin1'));
    for (const each of seen.risks) assert.ok(isFindingName(each.name) && each.message.isWellFormed());
    assert.notEqual(seen.result, 'Running');
  }
  for (const result of ['Passed', 'Risk', 'Error'])
    assert.ok((counts[result] ?? 0) > 0, `no ${result} among them`);
});
