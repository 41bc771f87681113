/** `completion bash|zsh`: a script that completes verbs, options and files. It starts no process for each completion. */
import { Argument, type Command, Option } from 'commander';
import { OUTCOMES, PHASES } from '../../contract/codes.ts';

/** Options with values to choose from. */
const VALUES: Readonly<Record<string, readonly string[]>> = {
  '--phase': PHASES,
  '--outcome': OUTCOMES,
  '--not-created': ['end', 'retry'],
};
/** What each shell needs first. bash's script also runs in zsh. */
const PRELUDES: Readonly<Record<string, string>> = {
  bash: '',
  zsh: 'autoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit\n',
};

/** A verb with those above it, such as `account open`; empty for the program. */
interface Words {
  verb: string;
  /** Its subcommands, or the values of its argument. */
  words: string[];
  options: string[];
  takesFile: boolean;
}

export function completionVerb(program: Command): void {
  program
    .command('completion')
    .description('print the completion script of a shell: source <(payouts completion bash)')
    .addArgument(new Argument('<shell>').choices(Object.keys(PRELUDES)))
    .action((shell: string) => void process.stdout.write(`${PRELUDES[shell]}${script(program)}`));
}

function script(program: Command): string {
  const all = wordsOf(program, '');
  const verbs = all.filter(({ verb }) => verb !== '').map(({ verb }) => `'${verb}'`);
  const files = all.filter(({ takesFile }) => takesFile).map(({ verb }) => `'${verb}':*`);
  const withValue = optionsWithValue(program);
  const free = withValue.filter((name) => !(name in VALUES));
  const values = Object.entries(VALUES).map(([name, known]) => `    ${name}) words='${known.join(' ')}' ;;`);
  const words = all.map(
    (one) => `    '${one.verb}') words='${one.words.join(' ')}' options='${one.options.join(' ')}' ;;`,
  );
  return `_payouts() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}"
  local verb='' words='' options='' i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "\${COMP_WORDS[i]}" in
      ${withValue.join('|')}) ((i += 1)); continue ;;
    esac
    case "\${verb:+$verb }\${COMP_WORDS[i]}" in
      ${verbs.join('|')}) verb="\${verb:+$verb }\${COMP_WORDS[i]}" ;;
    esac
  done
  case "$verb" in
${words.join('\n')}
  esac
  case "$previous" in
${values.join('\n')}
    ${free.join('|')}) words='' ;;
    *)
      case "$verb:$current" in
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

function wordsOf(command: Command, verb: string): Words[] {
  const { commands, registeredArguments } = command;
  const names = commands.map((one) => one.name());
  const choices = registeredArguments.flatMap(({ argChoices }) => argChoices ?? []);
  return [
    {
      verb,
      words: names.length > 0 ? names : choices,
      options: [...command.options, new Option('--help')].flatMap(({ long }) => long ?? []),
      takesFile: registeredArguments.some((argument) => argument.name() === 'file'),
    },
    ...commands.flatMap((one) => wordsOf(one, verb === '' ? one.name() : `${verb} ${one.name()}`)),
  ];
}

function optionsWithValue(command: Command): string[] {
  const own = command.options.flatMap(({ long, required, optional }) =>
    required || optional ? (long ?? []) : [],
  );
  return [...new Set([...own, ...command.commands.flatMap(optionsWithValue)])];
}
