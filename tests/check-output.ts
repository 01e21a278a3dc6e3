import { createHash } from 'node:crypto';

/** What a check writes on standard output: the framed document, bound to its run by its environment. */
export function framed(fields: object) {
  return (environment: Record<string, string>): Uint8Array => {
    const body = JSON.stringify({
      runID: environment.SLUICE_RUN_ID,
      check: environment.SLUICE_CHECK,
      targetDigest: environment.SLUICE_TARGET_DIGEST,
      ...fields,
    });
    const hash = createHash('sha256').update(body).digest('hex');
    return Buffer.from(`looking\nSLUICE-RESULT v1 ${Buffer.byteLength(body)} ${hash}\n${body}\n`);
  };
}
