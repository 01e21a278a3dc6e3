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
  return stat !== undefined && !hasEnded(stat) && startOf(stat) === start;
}

function ownerOf(pid: number, start: string, boot: string): string {
  return `${pid}-${start}-${boot}`;
}

function startOf(stat: string): string {
  return fieldsOf(stat)[19] ?? '0';
}

/** An ended process stands in the table until its parent asks for it (state Z), in some containers for ever. */
function hasEnded(stat: string): boolean {
  return fieldsOf(stat)[0] === 'Z';
}

/** proc(5): the fields from the third on, behind the name, which may hold anything but ends with the last parenthesis. */
function fieldsOf(stat: string): string[] {
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}

function bootId(): string {
  return readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').slice(0, 8);
}
