import { readFile } from 'node:fs/promises';

/** Mount points below a directory, deepest first, so that they can be unmounted in this order. */
export async function mountsBelow(directory: string): Promise<string[]> {
  return parseMounts(await readFile('/proc/self/mountinfo', 'utf8'), directory);
}

/** As `mountsBelow`, of the text of a mountinfo file (proc_pid_mountinfo(5): the fifth field, octal escapes). */
export function parseMounts(mountinfo: string, directory: string): string[] {
  const points = mountinfo
    .split('\n')
    .map((line) => line.split(' ')[4] ?? '')
    .map((point) =>
      point.replace(/\\([0-7]{3})/g, (_all, octal) => String.fromCharCode(Number.parseInt(octal, 8))),
    );
  return points.filter((point) => point.startsWith(`${directory}/`)).sort((a, b) => b.length - a.length);
}
