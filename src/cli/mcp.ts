import { Command, Option } from "commander";
import { ANYBODY } from "../server/access/caller.ts";
import { readConfig, withFolder } from "./open-engine.ts";
import { say } from "./output.ts";
import { LOG_LEVELS, type LogLevel } from "../server/config/schema.ts";
import { logNotices, openLog } from "./service-log.ts";
import { mayToolsPause, openKept } from "./waiting-call.ts";

interface Options {
  readonly tools?: string;
  readonly config?: string;
  readonly code?: true;
  readonly logLevel: LogLevel;
}

const SIGNALS = ["SIGTERM", "SIGINT"] as const;
const DRAIN_MS = 2_000;

/** `glovebox mcp`: serves a folder of tools to the client that started this process. Only the protocol uses stdout. */
export function mcpCommand(): Command {
  return withFolder(new Command("mcp"))
    .description("serve a folder of tools to an MCP client over stdin and stdout")
    .option("--tools <dir>", "folder of tools (default: the configuration's tools, else the samples)")
    .option("--config <file>", "configuration file (default: glovebox.config.yaml or .json in this folder, if present)")
    .option("--code", "serve run_code and search_tools in place of the tools, for programs of a model")
    .addOption(
      new Option("--log-level <level>", "lowest level that is logged, on stderr (JSON lines; text on a terminal)")
        .choices(LOG_LEVELS)
        .default("warn"),
    )
    .action(serve);
}

async function serve(
  _dir: string | undefined,
  { logLevel, code, ...sources }: Options,
  command: Command,
): Promise<void> {
  const config = await readConfig(sources.config);
  const logger = await openLog(logLevel);
  // The pair is also there where the configuration does not ask for it.
  const codeMode = code === true ? { codeMode: config.codeMode ?? {} } : {};
  const onUnusable = (why: string): void =>
    logger.warn(
      `calls that wait for a person are lost when this process ends: ${why}; set stateDir in the configuration`,
    );
  const kept = { options: { logger, ...codeMode }, resume: true, onUnusable };
  const { engine } = await openKept(sources, config, kept, (opened) => code === true || mayToolsPause(opened, config));
  logNotices(logger);
  const { serveMcp } = await import("../server/mcp/stdio.ts");
  const identity = { name: "glovebox", version: command.parent?.version() ?? "0.0.0" };
  const { AgentSpaceStores } = await import("../server/http/agentspace-stores.ts");
  const { ScopedEngine } = await import("../server/access/scoped-engine.ts");
  const stores = await AgentSpaceStores.open(engine, config);
  const scoped = new ScopedEngine(engine, undefined, stores.registry);
  const mode = code === true ? scoped.codeModeFor(ANYBODY, "mcp") : null;
  await mode?.ready();
  const report = ({ message }: Error): void => say(`glovebox: ${message}`);
  const connection = serveMcp(mode ?? scoped.runnerFor(ANYBODY, "mcp"), identity, report);
  await Promise.race([connection.closed, aSignal()]);
  await connection.close();
  await engine.close({ drainMs: DRAIN_MS });
  await stores[Symbol.asyncDispose]();
}

/** Resolves at the first stop signal. */
function aSignal(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of SIGNALS) process.once(signal, () => resolve());
  });
}
