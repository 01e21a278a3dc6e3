import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run, runOrThrow } from '../src/process/run.ts';
import type { ReleaseKeyring } from '../src/trust/release-signature.ts';

/** A real gpg with a home of its own (tier `gpg`). */
export interface Gpg {
  readonly home: string;
  gpg(args: readonly string[], input?: string): Promise<void>;
  /** A new key without a passphrase. @param expires as gpg takes it: `never`, `seconds=…`. */
  makeKey(name: string, expires?: string): Promise<ReleaseKeyring>;
  /** What a key signs, in the form of a release's signature. */
  sign(name: string, text: string, how?: readonly string[]): Promise<Uint8Array>;
  close(): Promise<void>;
}

export async function startGpg(): Promise<Gpg> {
  const home = await mkdtemp(join(tmpdir(), 'sluice-gpg-'));
  const quiet = ['--homedir', home, '--batch', '--yes', '--quiet', '--pinentry-mode', 'loopback'];
  async function gpg(args: readonly string[], input?: string): Promise<void> {
    await runOrThrow('gpg', [...quiet, '--passphrase', '', ...args], input === undefined ? {} : { input });
  }
  return {
    home,
    gpg,
    async makeKey(name, expires = 'never') {
      await gpg(['--quick-gen-key', `${name} <${name}@example.org>`, 'rsa2048', 'sign', expires]);
      const path = join(home, `${name}.asc`);
      await gpg(['--armor', '--output', path, '--export', `${name}@example.org`]);
      return { name: `verifier-public-key-${name}`, keys: await readFile(path, 'utf8') };
    },
    async sign(name, text, how = ['--sign']) {
      const path = join(home, 'signature');
      await gpg(['--local-user', `${name}@example.org`, '--output', path, ...how], text);
      return await readFile(path);
    },
    async close() {
      await run('gpgconf', ['--homedir', home, '--kill', 'all']);
      await rm(home, { recursive: true, force: true });
    },
  };
}

/** The document that a release's signature is made over. */
export function releaseClaim(digest: string, reference = 'quay.io/okd/release:1.1.0'): string {
  return JSON.stringify({
    critical: {
      type: 'atomic container signature',
      image: { 'docker-manifest-digest': digest },
      identity: { 'docker-reference': reference },
    },
    optional: {},
  });
}
