import { Command } from 'commander';
import { SluiceError } from '../errors/error.ts';
import type { CommandEntry } from './commands.ts';
import { print } from './output.ts';

/** `sluice completion bash|zsh|fish`. */
export function command(table: readonly CommandEntry[]): Command {
  return new Command()
    .description('Print the completion script of a shell')
    .argument('<shell>', 'bash, zsh or fish')
    .addHelpText(
      'after',
      '\nExamples:\n  sluice completion bash > /etc/bash_completion.d/sluice\n  source <(sluice completion zsh)',
    )
    .action(async (shell: string) => {
      const words = await subcommands(table);
      const script = scripts[shell];
      if (script === undefined) throw new SluiceError('Usage', `no completion for the shell '${shell}'`);
      print(script(words));
    });
}

type Words = ReadonlyMap<string, readonly string[]>;

/** Every command with its subcommands and long options, read from the commands themselves. */
async function subcommands(table: readonly CommandEntry[]): Promise<Words> {
  const words = new Map<string, string[]>();
  for (const entry of table) {
    if (entry.name === 'completion') {
      words.set(entry.name, ['bash', 'zsh', 'fish']);
      continue;
    }
    const root = (await entry.load()).command(table);
    const options = [root, ...root.commands].flatMap((each) =>
      each.options.map((option) => option.long ?? ''),
    );
    words.set(entry.name, [...root.commands.map((each) => each.name()), ...new Set(options)].filter(Boolean));
  }
  return words;
}

const scripts: Record<string, (words: Words) => string> = {
  bash: (words) => `_sluice() {
  local current=\${COMP_WORDS[COMP_CWORD]}
  if [ "$COMP_CWORD" -eq 1 ]; then COMPREPLY=($(compgen -W '${[...words.keys()].join(' ')}' -- "$current")); return; fi
  case "\${COMP_WORDS[1]}" in
${[...words].map(([name, list]) => `    ${name}) COMPREPLY=($(compgen -W '${list.join(' ')}' -- "$current")) ;;`).join('\n')}
  esac
  [ \${#COMPREPLY[@]} -gt 0 ] || COMPREPLY=($(compgen -f -- "$current"))
}
complete -F _sluice sluice`,
  zsh: (words) => `#compdef sluice
_sluice() {
  if (( CURRENT == 2 )); then compadd ${[...words.keys()].join(' ')}; return; fi
  case "$words[2]" in
${[...words].map(([name, list]) => `    ${name}) compadd -- ${list.join(' ')} ;;`).join('\n')}
  esac
  _files
}
compdef _sluice sluice`,
  fish: (words) =>
    [...words]
      .flatMap(([name, list]) => [
        `complete -c sluice -n __fish_use_subcommand -a ${name}`,
        ...list.map((word) =>
          word.startsWith('--')
            ? `complete -c sluice -n '__fish_seen_subcommand_from ${name}' -l ${word.slice(2)}`
            : `complete -c sluice -n '__fish_seen_subcommand_from ${name}' -a ${word}`,
        ),
      ])
      .join('\n'),
};
