import { spawn } from 'node:child_process';
import { homedir } from 'node:os';
import { join } from 'node:path';

/**
 * The public conformance suite of the distribution specification. Its program is built once, by Go from the module
 * proxy, into the user's cache, outside of this repository.
 */
const suite = 'github.com/opencontainers/distribution-spec/conformance';
const suiteVersion = 'v0.0.0-20260831232431-97274622c111';

/** Builds the suite where it is not there yet. Answers the path of its program. Errors: what Go says. */
export async function conformanceProgram(): Promise<string> {
  const cache = process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache');
  const directory = join(cache, 'sluice', 'conformance', suiteVersion);
  // `go install` does nothing where what it would build is there.
  const built = await runProgram('go', ['install', `${suite}@${suiteVersion}`], {
    env: { GOBIN: directory, GOFLAGS: '-mod=mod' },
  });
  if (built.code !== 0) throw new Error(`the conformance suite cannot be built: ${built.output}`);
  return join(directory, 'conformance');
}

/** Runs the suite. `env` is what its README lists; `results` gets its reports. */
export async function runConformance(
  program: string,
  results: string,
  env: Readonly<Record<string, string>>,
): Promise<{ code: number; output: string }> {
  return await runProgram(program, [], {
    cwd: results,
    env: { OCI_RESULTS_DIR: join(results, 'results'), OCI_TLS: 'disabled', ...env },
  });
}

async function runProgram(
  program: string,
  args: readonly string[],
  options: { cwd?: string; env: Readonly<Record<string, string>> },
): Promise<{ code: number; output: string }> {
  const child = spawn(program, args, {
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    env: { ...process.env, ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  const gather = (chunk: Buffer) => {
    output += chunk.toString('utf8');
  };
  child.stdout.on('data', gather);
  child.stderr.on('data', gather);
  return await new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => resolve({ code: code ?? 1, output }));
  });
}
