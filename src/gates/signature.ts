import type { GateFacts } from './facts.ts';
import type { Finding } from './finding.ts';

/** Whether a key that this cluster trusts signed the release. Nothing of it is read or run before. */
export function signatureGate({ target }: GateFacts): Finding[] {
  if (target.verified) {
    return [
      {
        name: 'ReleaseSignature',
        gate: 'signature',
        severity: 'blocking',
        result: 'Passed',
        message: `${target.bundle.name} is signed by ${target.bundle.signedBy}`,
      },
    ];
  }
  // An untrusted signature is a finding; not having been able to look is none.
  const found =
    target.code === 'SignatureMissing' ||
    target.code === 'SignatureUntrusted' ||
    target.code === 'DigestMismatch';
  return [
    {
      name: 'ReleaseSignature',
      gate: 'signature',
      severity: 'blocking',
      result: found ? 'Risk' : 'Error',
      message: target.message,
      next: target.next,
    },
  ];
}
