import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';

/**
 * Who works on a temporary file, as part of its name: process, its start, the boot. A name of a process that has
 * ended belongs to nobody, also where its number is in use again.
 */
export const ownOwner = ownerOf(process.pid, startOf(readFileSync('/proc/self/stat', 'latin1')), bootId());

const ownerForm = /^(\d+)-(\d+)-([0-9a-f]{8})$/;

/** Whether the process that an owner names still runs. */
export async function isOwnerAlive(owner: string): Promise<boolean> {
  const [, pid, start, boot] = ownerForm.exec(owner) ?? [];
  if (boot !== bootId()) return false;
  const stat = await readFile(`/proc/${pid}/stat`, 'latin1').catch(() => undefined);
  return stat !== undefined && startOf(stat) === start;
}

function ownerOf(pid: number, start: string, boot: string): string {
  return `${pid}-${start}-${boot}`;
}

/** proc(5): field 22, counted behind the name, which may hold anything but ends with the last parenthesis. */
function startOf(stat: string): string {
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '0';
}

function bootId(): string {
  return readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').slice(0, 8);
}
