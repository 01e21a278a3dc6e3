import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readJson, writeDurable, writeJson } from '../durable/file.ts';
import { type Clock, rfc3339 } from '../observe/clock.ts';
import { fingerprintOf, linesOf, type RegistryCredentials } from '../release/credentials.ts';

/** The password file of the node's registry. */
export interface PasswordFile {
  /** Brings the file up to date. Undefined (no Secret, or it cannot be read) leaves what stands. */
  apply(credentials: RegistryCredentials | undefined): Promise<void>;
  /** What the registry accepts now, as the node says it; undefined before the first time. */
  fingerprint(): string | undefined;
}

/** A line that the Secret does not have any more is accepted this much longer: clients learn of it in their time. */
const retiredMs = 10 * 60_000;

interface Retired {
  readonly line: string;
  /** RFC 3339. */
  readonly until: string;
}

/** @param of.stateDir survives a restart: when lines that were retired end. */
export function createPasswordFile(of: {
  readonly runDir: string;
  readonly stateDir: string;
  readonly clock: Clock;
}): PasswordFile {
  const file = join(of.runDir, 'htpasswd');
  const stateFile = join(of.stateDir, 'retired-passwords.json');
  let fingerprint: string | undefined;
  return {
    fingerprint: () => fingerprint,
    async apply(credentials) {
      if (credentials === undefined || credentials.htpasswd === '') return;
      const standing = await readFile(file, 'utf8').catch(() => '');
      const before = (await readJson<Retired[]>(stateFile).catch(() => undefined)) ?? [];
      const current = linesOf(credentials.htpasswd);
      const retired = stillRetired(current, linesOf(standing), before, of.clock.now());
      if (JSON.stringify(retired) !== JSON.stringify(before))
        await writeJson(stateFile, retired, { mode: 0o600 });
      const text = `${[...current, ...retired.map((each) => each.line)].join('\n')}\n`;
      if (text !== standing) await writeDurable(file, text, { mode: 0o600 });
      fingerprint = fingerprintOf(credentials);
    },
  };
}

/** Lines that stand and are not wanted any more, each until its time is over. */
function stillRetired(
  current: readonly string[],
  standing: readonly string[],
  before: readonly Retired[],
  now: number,
): Retired[] {
  const lines = new Set([...standing, ...before.map((each) => each.line)]);
  return [...lines]
    .filter((line) => !current.includes(line))
    .map((line) => before.find((each) => each.line === line) ?? { line, until: rfc3339(now + retiredMs) })
    .filter((each) => Date.parse(each.until) > now);
}
