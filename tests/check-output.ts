import { createHash } from 'node:crypto';
import { testRepository } from './bundles.ts';

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

/**
 * The Job of a check as a release ships it.
 * @param options.image a tag of the release; `check` has a program of its own, others are only played.
 * @param options.reads what it asks to read beside its rights: `/secrets/default/demo`.
 */
export function checkManifest(
  name = 'demo-check',
  options: { readonly image?: 'web' | 'check'; readonly namespace?: string; readonly reads?: string } = {},
): string {
  const { image = 'web', namespace, reads } = options;
  return [
    'apiVersion: batch/v1',
    'kind: Job',
    'metadata:',
    `  name: ${name}`,
    ...(namespace === undefined ? [] : [`  namespace: ${namespace}`]),
    '  annotations:',
    '    openshift.io/preflight-check: "true"',
    ...(reads === undefined ? [] : [`    sluice.dev/preflight-reads: ${reads}`]),
    'spec:',
    '  template:',
    '    spec:',
    '      containers:',
    '      - name: check',
    `        image: ${testRepository}/${image}`,
    ...(image === 'check' ? ['        command: [/usr/bin/check]'] : []),
    '',
  ].join('\n');
}
