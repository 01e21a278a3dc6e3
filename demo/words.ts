import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { nearName } from '../src/build/near-name.ts';
import { messageOf, SluiceError, systemCode } from '../src/errors/error.ts';
import { root, usualPlace } from './stage.ts';

const runners = ['auto', 'podman', 'sandbox'];

const options = {
  keep: { type: 'boolean', default: false },
  held: { type: 'boolean', default: false },
  stop: { type: 'boolean', default: false },
  json: { type: 'boolean', default: false },
  runner: { type: 'string', default: 'auto' },
  dir: { type: 'string', default: usualPlace },
  program: { type: 'string', default: join(root, 'sluice') },
} as const;

/** The words of the command line. Errors: Usage, with the option that a misspelt one was meant for. */
export function readWords(words: readonly string[]) {
  try {
    const { values } = parseArgs({ args: [...words], options });
    if (!runners.includes(values.runner)) throw new Error(`--runner is one of ${runners.join(', ')}`);
    return { ...values, keep: values.keep || values.held };
  } catch (error) {
    const near = misspelt.includes(systemCode(error) ?? '') ? nearOption(messageOf(error)) : undefined;
    throw new SluiceError('Usage', messageOf(error), {
      next: `${near === undefined ? '' : `Did you mean --${near}? `}See ./quickstart --help`,
    });
  }
}

const misspelt = ['ERR_PARSE_ARGS_UNKNOWN_OPTION', 'ERR_PARSE_ARGS_UNEXPECTED_POSITIONAL'];

/** The parser tells which word it was in its message alone. */
function nearOption(message: string): string | undefined {
  const [, word] = /'-{0,2}([^'=]+)/.exec(message) ?? [];
  return word === undefined ? undefined : nearName(word, [...Object.keys(options), 'help']);
}
