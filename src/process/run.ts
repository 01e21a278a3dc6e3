import { spawn } from 'node:child_process';
import { SluiceError, systemCode } from '../errors/error.ts';

export interface RunOptions {
  /** The whole environment of the child; default: ours. */
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
  /** Written to standard input, which is closed after it. */
  readonly input?: string | Uint8Array;
  /** Milliseconds; the child's process group is killed after them. Default 60 000. */
  readonly timeoutMs?: number;
  /** Bytes kept of each stream; the rest is dropped. Default 1 MiB. */
  readonly outputBytesMax?: number;
  readonly signal?: AbortSignal;
}

export interface RunResult {
  /** Exit code; null where a signal ended the child. */
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly timedOut: boolean;
}

/**
 * Runs a program to its end, without a shell. Never throws for an exit code: the caller decides.
 * Errors: NotFound where the program does not exist.
 */
export async function run(
  command: string,
  args: readonly string[],
  options: RunOptions = {},
): Promise<RunResult> {
  const limit = options.outputBytesMax ?? 1024 * 1024;
  return await new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      env: options.env ?? process.env,
      cwd: options.cwd,
      detached: true,
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    let timedOut = false;
    const kill = () => {
      try {
        if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
      } catch {
        // The group is already gone.
      }
    };
    const timer = setTimeout(() => {
      timedOut = true;
      kill();
    }, options.timeoutMs ?? 60_000);
    options.signal?.addEventListener('abort', kill, { once: true });
    const collect = (stream: NodeJS.ReadableStream) => {
      const chunks: Buffer[] = [];
      let size = 0;
      stream.on('data', (chunk: Buffer) => {
        if (size < limit) chunks.push(chunk.subarray(0, limit - size));
        size += chunk.length;
      });
      return () => Buffer.concat(chunks).toString('utf8');
    };
    const stdout = collect(child.stdout);
    const stderr = collect(child.stderr);
    child.stdin.on('error', () => {}); // The child may close its input before it has read all of it.
    child.stdin.end(options.input);
    child.on('error', (error) => {
      clearTimeout(timer);
      const missing = systemCode(error) === 'ENOENT';
      reject(
        missing
          ? new SluiceError('NotFound', `the program ${command} is not installed`, { cause: error })
          : error,
      );
    });
    child.on('close', (code, signal) => {
      clearTimeout(timer);
      options.signal?.removeEventListener('abort', kill);
      resolve({ code, signal, stdout: stdout(), stderr: stderr(), timedOut });
    });
  });
}

/** As `run`, and an exit code other than 0 is an error that holds the end of what the program wrote. */
export async function runOrThrow(
  command: string,
  args: readonly string[],
  options: RunOptions = {},
): Promise<RunResult> {
  const result = await run(command, args, options);
  if (result.code === 0) return result;
  const how = result.timedOut ? 'took too long' : `ended with ${result.code ?? result.signal}`;
  const said = (result.stderr.trim() || result.stdout.trim()).split('\n').slice(-3).join(' | ');
  throw new SluiceError('CommandFailed', `${command} ${args[0] ?? ''} ${how}: ${said}`);
}
