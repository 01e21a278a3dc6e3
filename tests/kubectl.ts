import { spawn } from 'node:child_process';

export interface CommandEnd {
  readonly code: number | null;
  /** Standard output and error, in the order in which they came. */
  readonly output: string;
}

/** Runs a real command, kubectl say, to its end. Never rejects for its exit code. */
export async function runCommand(command: string, args: readonly string[]): Promise<CommandEnd> {
  const child = spawn(command, args);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString('utf8');
    });
  }
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', resolve);
  });
  return { code, output };
}
