import type { ConnectorStatus } from "../kernel/base/connector-report.ts";
import { Command } from "commander";
import type { ConnectorReport } from "../connectors/engine/check-connectors.ts";
import { loginCommands } from "./connectors-login.ts";
import { EXIT } from "./exit.ts";
import { CONFIG, engineOptions, orUsage, readConfig } from "./open-engine.ts";
import { countOf, print, printJson, say, visible } from "./output.ts";
import { ask, remoteServer } from "./remote-server.ts";

interface CheckOptions {
  readonly config?: string;
  readonly json?: true;
}

interface ListOptions {
  readonly url: string;
  readonly keyEnv?: string;
  readonly json?: true;
}

const ASK_MS = 10_000;
const TENANTS_SHOWN = 10;

/** `glovebox connectors`: the connectors of a server, and a check of those of a configuration. */
export function connectorsCommand(): Command {
  const list = new Command("list")
    .description("list the connectors of a running server, with their tools")
    .option("--url <url>", "the server's address", "http://127.0.0.1:8080")
    .option("--key-env <name>", "environment variable with a key that has the role admin")
    .option("--json", "print every detail as JSON")
    .action(listConnectors);
  const check = new Command("check")
    .description("read the connectors of the configuration: their tools, digests for pin, and what is left out")
    .option(...CONFIG)
    .option("--json", "print every detail as JSON")
    .action(checkAll);
  const command = new Command("connectors")
    .description("list, check and log in connectors to MCP servers and to APIs with an OpenAPI document")
    .addCommand(list)
    .addCommand(check);
  for (const each of loginCommands()) command.addCommand(each);
  return command;
}

async function listConnectors({ url, keyEnv, json }: ListOptions): Promise<void> {
  const response = await ask(remoteServer(url, keyEnv), {
    path: "v1/connectors",
    accept: "application/json",
    signal: AbortSignal.timeout(ASK_MS),
    role: "admin",
    missing: "connectors",
  });
  const connectors = (await response.json()) as readonly ConnectorStatus[];
  if (json === true) return printJson(connectors);
  for (const { name, kind, state, tools, problem, login } of connectors) {
    const why = [problem, ...loginWords(login)].filter((text) => text !== null).map((text) => `  ${visible(text)}`);
    print(`${visible(name)}  ${kind}  ${state}  ${countOf(tools.length, "tool")}${why.join("")}`);
  }
}

/** The state of a login, why it is so, and the tenants that need one of their own. */
function loginWords(login: ConnectorStatus["login"]): readonly (string | null)[] {
  if (login === null) return [];
  const { state, reason, tenants } = login;
  const shown = tenants.slice(0, TENANTS_SHOWN).join(", ");
  const more = tenants.length > TENANTS_SHOWN ? `, and ${tenants.length - TENANTS_SHOWN} more` : "";
  return [`login ${state}`, reason, tenants.length === 0 ? null : `login needed for ${shown}${more}`];
}

async function checkAll({ config: file, json }: CheckOptions): Promise<void> {
  const options = engineOptions(await readConfig(file));
  const { checkConnectors } = await import("../connectors/engine/check-connectors.ts");
  const reports = await orUsage(Promise.try(() => checkConnectors(options)));
  if (reports.some((report) => report.problem !== null || isOther(report))) process.exitCode = EXIT.FAILED;
  if (json === true) return printJson(reports);
  if (reports.length === 0) say("the configuration has no connectors");
  for (const report of reports) for (const line of linesOf(report)) print(line);
}

/** Whether the list differs from the one in the pin. */
function isOther({ pin, digest }: ConnectorReport): boolean {
  return pin !== null && pin !== digest;
}

function linesOf(report: ConnectorReport): readonly string[] {
  const { name, kind, server, tools, digest, pin, problem, findings } = report;
  const head = `${visible(name)}  ${kind}${server === null ? "" : `  ${visible(server)}`}`;
  if (problem !== null) return [head, `  cannot be read: ${visible(problem)}`, ...authLines(report)];
  const pinned = pin === null ? "not pinned" : isOther(report) ? `pinned to another list: ${pin}` : "pinned";
  return [
    head,
    `  ${countOf(tools.length, "tool")}, ${pinned}`,
    `  pin: ${digest}`,
    ...authLines(report),
    ...tools.map((tool) => `  ${visible(tool.name)}  ${visible(tool.description.split("\n", 1)[0] ?? "")}`),
    ...findings.map(
      ({ tool, reason }) => `  ${tool === null ? "note" : `left out: ${visible(tool)}`}: ${visible(reason)}`,
    ),
  ];
}

/** Lines of the configuration that log the connector in. JSON is valid YAML, with any text from a server. */
function authLines({ auths }: ConnectorReport): readonly string[] {
  return auths.map(({ scheme, auth }) => `  auth: ${visible(JSON.stringify(auth))}  # ${visible(scheme)}`);
}
