/** `completion bash|zsh`: a script that completes commands, options and files. It starts no process for each completion. */
import { Argument, type Command, type CommandUnknownOpts, Option } from '@commander-js/extra-typings';

/** What each shell needs first. bash's script also runs in zsh. */
const PRELUDES: Readonly<Record<string, string>> = {
  bash: '',
  zsh: 'autoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit\n',
};

/** A name with those above it, such as `account open`; empty for the program. */
interface Words {
  name: string;
  /** Its subcommands, or the values of its argument. */
  words: string[];
  options: string[];
  takesFile: boolean;
}

export function completionCommand(program: Command): void {
  program
    .command('completion')
    .description('print the completion script of a shell: source <(payouts completion bash)')
    .addArgument(new Argument('<shell>').choices(Object.keys(PRELUDES)))
    .action((shell: string) => void process.stdout.write(`${PRELUDES[shell]}${script(program)}`));
}

function script(program: Command): string {
  const all = wordsOf(program, '');
  const commands = all.filter(({ name }) => name !== '').map(({ name }) => `'${name}'`);
  const files = all.filter(({ takesFile }) => takesFile).map(({ name }) => `'${name}':*`);
  const options = optionsOf(program).filter(({ required, optional }) => required || optional);
  const withValue = [...new Set(options.flatMap(({ long }) => long ?? []))];
  const chosen = new Map(
    options.flatMap(({ long, argChoices }) => (long && argChoices ? [[long, argChoices]] : [])),
  );
  const free = withValue.filter((name) => !chosen.has(name));
  const values = Array.from(chosen, ([name, known]) => `    ${name}) words='${known.join(' ')}' ;;`);
  const words = all.map(
    (one) => `    '${one.name}') words='${one.words.join(' ')}' options='${one.options.join(' ')}' ;;`,
  );
  return `_payouts() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}"
  local name='' words='' options='' i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "\${COMP_WORDS[i]}" in
      ${withValue.join('|')}) ((i += 1)); continue ;;
    esac
    case "\${name:+$name }\${COMP_WORDS[i]}" in
      ${commands.join('|')}) name="\${name:+$name }\${COMP_WORDS[i]}" ;;
    esac
  done
  case "$name" in
${words.join('\n')}
  esac
  case "$previous" in
${values.join('\n')}
    ${free.join('|')}) words='' ;;
    *)
      case "$name:$current" in
        *:-*) words="$options" ;;
        ${files.join('|')})
          COMPREPLY=($(compgen -W "$words" -- "$current"))
          local IFS=$'\\n'
          compopt -o filenames 2>/dev/null
          COMPREPLY+=($(compgen -f -- "$current"))
          return ;;
      esac ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -F _payouts payouts
`;
}

function wordsOf(command: CommandUnknownOpts, name: string): Words[] {
  const { commands, registeredArguments } = command;
  const names = commands.map((one) => one.name());
  const choices = registeredArguments.flatMap(({ argChoices }) => argChoices ?? []);
  return [
    {
      name,
      words: names.length > 0 ? names : choices,
      options: [...command.options, new Option('--help')].flatMap(({ long }) => long ?? []),
      takesFile: registeredArguments.some((argument) => argument.name() === 'file'),
    },
    ...commands.flatMap((one) => wordsOf(one, name === '' ? one.name() : `${name} ${one.name()}`)),
  ];
}

function optionsOf(command: CommandUnknownOpts): Option[] {
  return [...command.options, ...command.commands.flatMap(optionsOf)];
}
