import { Argument, Command, Option } from "commander";
import { CliError, EXIT } from "./exit.ts";
import { print } from "./output.ts";

const SHELLS = ["bash", "zsh", "fish", "powershell"] as const;
type Shell = (typeof SHELLS)[number];

/**
 * Scripts by which this command completes a line. They pass each word with `=` before it, so that none is empty and
 * none is parsed as an option; the last is the one to complete. An answer has a candidate on each line, and its
 * description after a tab. Scripts print nothing, and without a candidate the shell completes files.
 */
const SCRIPTS: Readonly<Record<Shell, string>> = {
  bash: `_glovebox() {
  local value about
  local words=("\${COMP_WORDS[@]:1:COMP_CWORD}")
  COMPREPLY=()
  while IFS=$'\\t' read -r value about; do
    COMPREPLY+=("$value")
  done < <(glovebox complete --line "\${words[@]/#/=}" 2>/dev/null)
}
complete -o bashdefault -o default -F _glovebox glovebox`,
  zsh: `#compdef glovebox
_glovebox() {
  local line
  local -a found
  for line in "\${(@f)$(glovebox complete --line "\${(@)words[2,CURRENT]/#/=}" 2>/dev/null)}"; do
    [[ -n $line ]] && found+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
  done
  if (( \${#found} )); then _describe glovebox found; else _files; fi
}
(( $+functions[compdef] )) && compdef _glovebox glovebox`,
  fish: `function __glovebox_complete
    set -l words (commandline -opc)[2..-1]
    set -l current (commandline -ct)
    glovebox complete --line "="$words "=$current" 2>/dev/null
end
complete -c glovebox -a '(__glovebox_complete)'`,
  powershell: `Register-ArgumentCompleter -Native -CommandName glovebox -ScriptBlock {
  param($word, $ast, $position)
  $words = @($ast.CommandElements | Select-Object -Skip 1 | ForEach-Object { "=$_" })
  if ($word -ne '') { $words = @($words | Select-Object -SkipLast 1) }
  glovebox complete --line @words "=$word" 2>$null | ForEach-Object {
    $value, $about = $_ -split "\`t", 2
    if (-not $about) { $about = $value }
    [System.Management.Automation.CompletionResult]::new($value, $value, 'ParameterValue', $about)
  }
}`,
};

/** `glovebox complete`: a shell's script for completion; and for that script, the candidates. */
export function completeCommand(program: () => Command): Command {
  return new Command("complete")
    .description(
      'print the script with which a shell completes commands, options, tools and calls: eval "$(glovebox complete bash)"',
    )
    .addArgument(new Argument("[shell]", `the shell: ${SHELLS.join(", ")}`))
    .addArgument(new Argument("[words...]", "words of the line, for the script"))
    .addOption(new Option("--line", "print candidates for the last word").hideHelp())
    .action(async (first: string | undefined, rest: readonly string[], { line }: { readonly line?: true }) => {
      if (line === true) {
        const { candidates } = await import("./candidates.ts");
        const words = [...(first === undefined ? [] : [first]), ...rest].map((word) => word.replace(/^=/, ""));
        for (const { value, about } of await candidates(program(), words))
          print(about === "" ? value : `${value}\t${about}`);
        return;
      }
      const shell = SHELLS.find((one) => one === first);
      if (shell === undefined || rest.length > 0) throw new CliError(EXIT.USAGE, `name a shell: ${SHELLS.join(", ")}`);
      print(SCRIPTS[shell]);
    });
}
