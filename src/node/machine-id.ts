import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { systemCode } from '../errors/error.ts';

/** The id of this machine: its own in the node's directory (several nodes on one host), else machine-id(5). */
export async function readMachineId(dir: string): Promise<string> {
  try {
    return (await readFile(join(dir, 'machine-id'), 'utf8')).trim();
  } catch (error) {
    if (systemCode(error) !== 'ENOENT') throw error;
  }
  return (await readFile('/etc/machine-id', 'utf8')).trim();
}
