import type { Command } from "commander";
import { EXIT, EXIT_MEANINGS } from "./exit.ts";

type Exit = keyof typeof EXIT;

/** Additions to the help of a command after its options. */
interface HelpText {
  /** A line that can be run unchanged, with the user's own folder, file or server. */
  readonly example: string;
  /** Its exit codes in addition to 0 and 2. */
  readonly exits: readonly Exit[];
}

const REMOTE = ["FAILED", "INVALID", "UNREACHABLE"] as const;
const WORKFLOW = ["RUNTIME", "IO", "UNSUPPORTED", "UNEXPECTED", "INTERRUPTED"] as const;

function text(example: string, ...exits: readonly Exit[]): HelpText {
  return { example, exits };
}

/** By the names of commands behind `glovebox`. */
const HELP: Readonly<Record<string, HelpText>> = {
  new: text("glovebox new greeter --template tool"),
  serve: text("glovebox serve tools --watch", "FAILED", "INVALID", "UNREACHABLE", "INTERRUPTED"),
  worker: text("glovebox worker --redis redis://127.0.0.1:6379", "FAILED", "UNREACHABLE", "INTERRUPTED"),
  "redis acl": text("glovebox redis acl --fleet blue"),
  top: text("glovebox top --url http://127.0.0.1:8080", ...REMOTE),
  "calls list": text("glovebox calls list --code tool_error --since 2026-01-31T12:00:00Z", ...REMOTE),
  "calls show": text("glovebox calls show ID", ...REMOTE),
  "calls approve": text("glovebox calls approve ID --actor ada@example.com", ...REMOTE, "PAUSED"),
  "calls refuse": text('glovebox calls refuse ID --reason "the order was delivered"', ...REMOTE, "PAUSED"),
  "calls settle": text("glovebox calls settle ID --happened '{\"status\":201}'", ...REMOTE, "PAUSED"),
  "calls signal": text("glovebox calls signal ID payment --payload '{\"sum\":12}'", ...REMOTE, "PAUSED"),
  "calls cancel": text("glovebox calls cancel ID", ...REMOTE),
  "calls undo": text("glovebox calls undo ID", ...REMOTE, "PAUSED"),
  "calls result": text("glovebox calls result ID --wait 25", ...REMOTE, "PAUSED"),
  "calls watch": text("glovebox calls watch --tool greet", ...REMOTE),
  "calls replay": text("glovebox calls replay ID", ...REMOTE),
  "calls diff": text("glovebox calls diff ID OTHER", ...REMOTE),
  "calls export": text("glovebox calls export --file calls.sqlite", "FAILED"),
  "calls import": text("glovebox calls import calls.jsonl", "FAILED", "INVALID"),
  "calls backup": text("glovebox calls backup calls.backup", "FAILED"),
  "policy simulate": text("glovebox policy simulate policy.yaml --tool greet", ...REMOTE),
  "keys new": text("glovebox keys new --name ci --role execute"),
  "snippets list": text("glovebox snippets list --tenant acme", ...REMOTE),
  "snippets show": text("glovebox snippets show report --tenant acme", ...REMOTE),
  "snippets save": text('glovebox snippets save report report.ts --description "Lists what is overdue."', ...REMOTE),
  "snippets delete": text("glovebox snippets delete report", ...REMOTE),
  "connectors list": text("glovebox connectors list", ...REMOTE),
  "connectors check": text("glovebox connectors check", "FAILED", "INVALID"),
  "connectors login": text("glovebox connectors login crm", "FAILED", "INVALID"),
  "connectors logout": text("glovebox connectors logout crm", "FAILED"),
  mcp: text("glovebox mcp tools", "FAILED", "INVALID"),
  run: text('glovebox run greet --tools tools --input \'{"name":"Ada"}\'', "FAILED", "INVALID", "PAUSED", ...WORKFLOW),
  code: text("glovebox code program.ts --tools tools", "FAILED", "INVALID"),
  plan: text("glovebox plan workflow.yaml", "INVALID", ...WORKFLOW),
  "python add": text("glovebox python add PyYAML --wheels wheels", "FAILED", "INVALID"),
  list: text("glovebox list tools", "INVALID"),
  "list-tools": text("glovebox list-tools --json", "INVALID"),
  "list-supported": text("glovebox list-supported --json"),
  types: text("glovebox types tools --out tools.d.ts", "FAILED", "INVALID", "UNREACHABLE", "STALE"),
  explain: text("glovebox explain greet --tenant acme", "FAILED", "INVALID", ...WORKFLOW),
  replay: text("glovebox replay greet.json", ...REMOTE),
  "agentspace register": text("glovebox agentspace register tool.json", ...REMOTE),
  "agentspace list": text("glovebox agentspace list --tag text", ...REMOTE),
  "agentspace search": text("glovebox agentspace search weather forecast", ...REMOTE),
  "agentspace man": text("glovebox agentspace man weather-forecast-v1", ...REMOTE),
  "agentspace versions": text("glovebox agentspace versions weather-forecast-v1", ...REMOTE),
  "agentspace remove": text("glovebox agentspace remove weather-forecast-v1", ...REMOTE),
  test: text("glovebox test tools --recordings recordings", "FAILED", "INVALID"),
  validate: text("glovebox validate tools", "INVALID"),
  "module validate": text("glovebox module validate tools", "INVALID"),
  "config print": text("glovebox config print --json"),
  "config check": text("glovebox config check --fix"),
  "config names": text("glovebox config names"),
  docs: text("glovebox docs policy", "FAILED"),
  complete: text('eval "$(glovebox complete bash)"'),
  doctor: text("glovebox doctor", "FAILED"),
  bench: text("glovebox bench --ms 500", "FAILED"),
  version: text("glovebox version --json"),
};

/** Adds an example and the exit codes to the help of a command and of those below it, and all codes to that of `glovebox`. */
export function addHelpTexts(program: Command): void {
  program.addHelpText("after", () => `\nExit codes:\n${exitLines(Object.keys(EXIT) as Exit[])}`);
  for (const command of program.commands) addTo(command, command.name());
}

function addTo(command: Command, name: string): void {
  const help = HELP[name];
  if (help !== undefined) {
    command.addHelpText("after", () => `\nExample:\n  ${help.example}\n\nExit codes:\n${exitLines(exitsOf(help))}`);
  }
  for (const below of command.commands) addTo(below, `${name} ${below.name()}`);
}

function exitLines(exits: readonly Exit[]): string {
  return exits.map((exit) => `  ${String(EXIT[exit]).padEnd(3)}  ${EXIT_MEANINGS[exit]}`).join("\n");
}

function exitsOf({ exits }: HelpText): readonly Exit[] {
  return (Object.keys(EXIT) as Exit[]).filter((exit) => exit === "OK" || exit === "USAGE" || exits.includes(exit));
}

/** The example and the exit codes of a command, by its name behind `glovebox`. */
export function helpTextOf(name: string): { readonly example: string; readonly codes: readonly number[] } | undefined {
  const help = HELP[name];
  // Two of them share a code.
  return help && { example: help.example, codes: [...new Set(exitsOf(help).map((exit) => EXIT[exit]))] };
}
