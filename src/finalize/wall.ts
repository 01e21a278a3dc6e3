import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { foreignText } from './hold.ts';
import type { Session } from './users.ts';

/** A terminal name, as below /dev; nothing else is ever opened. */
const ttyForm = /^(tty|pts\/|hvc|console|ttyS|ttyAMA)\d*$/;
const writeMs = 1_000;
const messageCharsMax = 500;

/**
 * Writes a message on the terminals of users. One that does not read, or is stopped, is passed over: it must not
 * hang the agent.
 */
export async function warnUsers(
  sessions: readonly Session[],
  message: string,
  devices = '/dev',
): Promise<void> {
  const bytes = Buffer.from(`\r\n\x07${foreignText(message, messageCharsMax)}\r\n`);
  const ttys = new Set(sessions.map(({ tty }) => tty).filter((tty) => ttyForm.test(tty)));
  await Promise.all(
    [...ttys].map((tty) => Promise.race([write(`${devices}/${tty}`, bytes), later(writeMs)])),
  );
}

async function write(path: string, bytes: Buffer): Promise<void> {
  try {
    const flags = constants.O_WRONLY | constants.O_NOCTTY | constants.O_NONBLOCK;
    const handle = await open(path, flags);
    try {
      await handle.write(bytes);
    } finally {
      await handle.close();
    }
  } catch {
    // Gone, or full: the next message may pass.
  }
}

function later(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms).unref();
  });
}
