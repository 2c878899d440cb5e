/** The completion scripts themselves. */

export interface Completable {
  name: string;
  alias?: string;
  description: string;
  takes: "nothing" | "word" | "file" | "text";
  /** for "word" */
  values: readonly string[];
}

export interface Completions {
  program: string;
  flags: readonly Completable[];
  commands: readonly { name: string; description: string }[];
}

const spellings = ({ name, alias }: Completable): string[] => [`--${name}`, ...(alias ? [`-${alias}`] : [])];

export function bash({ program, flags, commands }: Completions): string {
  const rows = flags.flatMap((flag) => {
    if (flag.takes === "nothing") return [];
    const answer = {
      word: `COMPREPLY=($(compgen -W "${flag.values.join(" ")}" -- "$cur"))`,
      file: `COMPREPLY=($(compgen -f -- "$cur"))`,
      text: "COMPREPLY=()",
    };
    return [`    ${spellings(flag).join("|")}) ${answer[flag.takes]}; return ;;`];
  });
  return `# bash completion for ${program}: eval "$(${program} completions bash)"
_${program}() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD-1]}"
  case "$prev" in
${rows.join("\n")}
  esac
  if [[ "$cur" == -* ]]; then
    COMPREPLY=($(compgen -W "${flags.flatMap(spellings).join(" ")}" -- "$cur"))
  elif [[ "$cur" == @* ]]; then
    COMPREPLY=($(compgen -P @ -f -- "\${cur#@}"))
  elif [[ $COMP_CWORD -eq 1 ]]; then
    COMPREPLY=($(compgen -W "${commands.map(({ name }) => name).join(" ")}" -- "$cur") $(compgen -f -- "$cur"))
  else
    COMPREPLY=($(compgen -f -- "$cur"))
  fi
}
complete -o filenames -F _${program} ${program}
`;
}

export function zsh({ program, flags, commands }: Completions): string {
  const plain = (text: string) => text.replace(/[[\]:\\'`$]/g, (char) => (char === "'" ? "'\\''" : `\\${char}`));
  const action = (flag: Completable) => ({ nothing: "", word: `:value:(${flag.values.join(" ")})`, file: ":file:_files", text: ":value: " })[flag.takes];
  const options = flags.flatMap((flag) => spellings(flag).map((spelling) => `    '*${spelling}[${plain(flag.description)}]${action(flag)}' \\`));
  return `#compdef ${program}
# zsh completion for ${program}: ${program} completions zsh > a file _${program} in your fpath
_${program}() {
  local -a commands
  commands=(
${commands.map(({ name, description }) => `    '${name}:${plain(description)}'`).join("\n")}
  )
  if (( CURRENT == 2 )) && [[ "$words[CURRENT]" != -* ]]; then
    _describe command commands
  fi
  _arguments \\
${options.join("\n")}
    '*:file:_files'
}
if [ "$funcstack[1]" = "_${program}" ]; then _${program} "$@"; else compdef _${program} ${program}; fi
`;
}

export function fish({ program, flags, commands }: Completions): string {
  const quoted = (text: string) => `'${text.replace(/[\\']/g, "\\$&")}'`;
  const options = flags.map((flag) => {
    const alias = flag.alias ? (flag.alias.length === 1 ? ` -s ${flag.alias}` : ` -o ${flag.alias}`) : "";
    const action = { nothing: "", word: ` -x -a ${quoted(flag.values.join(" "))}`, file: " -r -F", text: " -x" }[flag.takes];
    return `complete -c ${program} -l ${flag.name}${alias}${action} -d ${quoted(flag.description)}`;
  });
  const words = commands.map(({ name, description }) => `complete -c ${program} -n __fish_use_subcommand -a ${name} -d ${quoted(description)}`);
  return `# fish completion for ${program}: ${program} completions fish | source\n${[...words, ...options].join("\n")}\n`;
}
