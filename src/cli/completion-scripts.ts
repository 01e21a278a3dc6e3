/** What stands in the cluster and can be named by a word of a command. */
export const nameKinds = ['release', 'version', 'node', 'preflight', 'report', 'risk'] as const;
export type NameKind = (typeof nameKinds)[number];

/** What may follow the words of a command. */
export interface Continuation {
  /** Words before, without the program: '' for the beginning, 'upgrade report'. */
  readonly path: string;
  /** Subcommands, fixed words and long options. */
  readonly words: readonly string[];
  /** Options that take one of a few words: their names (`-o`, `--output`), and the words. */
  readonly values: readonly { readonly options: readonly string[]; readonly words: readonly string[] }[];
  /** Options whose value names something of the cluster. */
  readonly asks: readonly { readonly option: string; readonly names: NameKind }[];
  /** What its argument names. */
  readonly names?: NameKind;
}

export const scripts: Readonly<Record<string, (all: readonly Continuation[]) => string>> = {
  bash: (all) => `# bash completion of sluice
_sluice() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]} program=\${COMP_WORDS[0]}
  local path='' words='' names='' i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "\${path:+$path }\${COMP_WORDS[i]}" in
      ${pathsOf(all, '"')}) path="\${path:+$path }\${COMP_WORDS[i]}" ;;
    esac
  done
  # --option=word comes as three words.
  if [ "$current" = = ]; then
    current=''
  elif [ "$previous" = = ]; then
    previous=\${COMP_WORDS[COMP_CWORD-2]}
  fi
  case "$path $previous" in
${valueCases(all, (pattern, words) => `    ${pattern}) COMPREPLY=($(compgen -W '${words}' -- "$current")); return ;;`)}
  esac
  case "$path $previous" in
${askCases(all, (pattern, names) => `    ${pattern}) names=${names} ;;`)}
    *)
      case "$path" in
${all.map(({ path, words, names }) => `        "${path}") words='${words.join(' ')}'${names === undefined ? '' : `; names=${names}`} ;;`).join('\n')}
      esac ;;
  esac
  if [ -n "$names" ] && [ "\${current#-}" = "$current" ]; then
    words="$words $("$program" completion names "$names" 2>/dev/null)"
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  [ \${#COMPREPLY[@]} -gt 0 ] || COMPREPLY=($(compgen -f -- "$current"))
}
complete -F _sluice sluice ./sluice`,
  zsh: (all) => `#compdef sluice
_sluice() {
  # The name path is taken: in zsh that is where programs are found.
  local program=$words[1] place='' names='' i
  local -a choices
  for ((i = 2; i < CURRENT; i++)); do
    case "\${place:+$place }$words[i]" in
      (${pathsOf(all, '"')}) place="\${place:+$place }$words[i]" ;;
    esac
  done
  case "$place $words[CURRENT-1]" in
${valueCases(all, (pattern, words) => `    (${pattern}) compadd -- ${words}; return ;;`)}
  esac
  case "$place $words[CURRENT-1]" in
${askCases(all, (pattern, names) => `    (${pattern}) names=${names} ;;`)}
    (*)
      case "$place" in
${all.map(({ path, words, names }) => `        ("${path}") choices=(${words.join(' ')})${names === undefined ? '' : `; names=${names}`} ;;`).join('\n')}
      esac ;;
  esac
  [[ -n $names && $PREFIX != -* ]] && choices+=(\${(f)"$($program completion names $names 2>/dev/null)"})
  compadd -- $choices
  _files
}
compdef _sluice sluice`,
  fish: (all) =>
    [
      '# fish completion of sluice',
      'function __sluice_path',
      "  set -l path ''",
      '  for word in (commandline -opc)[2..-1]',
      '    set -l next (string trim -- "$path $word")',
      `    contains -- "$next" ${all.map(({ path }) => `'${path}'`).join(' ')}; and set path $next`,
      '  end',
      '  test "$path" = "$argv[1]"',
      'end',
      ...all.flatMap(({ path, words, values, asks, names }) => [
        ...values.map(
          ({ options, words }) =>
            `complete -c sluice -n "__sluice_path '${path}'"${options.map(fishOption).join('')} -x -a '${words.join(' ')}'`,
        ),
        ...words
          .filter((word) => !values.some(({ options }) => options.includes(word)))
          .map((word) => {
            if (!word.startsWith('--'))
              return `complete -c sluice -f -n "__sluice_path '${path}'" -a ${word}`;
            const asked = asks.find(({ option }) => option === word);
            const named =
              asked === undefined ? '' : ` -x -a '(sluice completion names ${asked.names} 2>/dev/null)'`;
            return `complete -c sluice -n "__sluice_path '${path}'" -l ${word.slice(2)}${named}`;
          }),
        ...(names === undefined
          ? []
          : [
              `complete -c sluice -n "__sluice_path '${path}'" -a '(sluice completion names ${names} 2>/dev/null)'`,
            ]),
      ]),
    ].join('\n'),
};

/** A case for each set of words, with all the options that take it. */
function valueCases(all: readonly Continuation[], line: (pattern: string, words: string) => string): string {
  const patterns = new Map<string, string[]>();
  for (const { path, values } of all) {
    for (const { options, words } of values) {
      const key = words.join(' ');
      const own = options.map((option) => `"${path} ${option}"`);
      patterns.set(key, [...(patterns.get(key) ?? []), ...own]);
    }
  }
  return [...patterns].map(([words, own]) => line(own.join('|'), words)).join('\n');
}

/** A case for each kind of names, with all the options that take one. */
function askCases(all: readonly Continuation[], line: (pattern: string, names: string) => string): string {
  const patterns = new Map<string, string[]>();
  for (const { path, asks } of all) {
    for (const { option, names } of asks) {
      patterns.set(names, [...(patterns.get(names) ?? []), `"${path} ${option}"`]);
    }
  }
  return [...patterns].map(([names, own]) => line(own.join('|'), names)).join('\n');
}

/** An option as complete(1) of fish takes it. */
function fishOption(option: string): string {
  return option.startsWith('--') ? ` -l ${option.slice(2)}` : ` -s ${option.slice(1)}`;
}

function pathsOf(all: readonly Continuation[], quote: string): string {
  return all
    .filter(({ path }) => path !== '')
    .map(({ path }) => quote + path + quote)
    .join('|');
}
