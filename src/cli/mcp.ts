import { isatty } from "node:tty";
import { Command, Option } from "commander";
import { ANYBODY } from "../server/access/caller.ts";
import type { Engine } from "../kernel/engine/engine.ts";
import type { EngineOptions } from "../kernel/engine/options.ts";
import { filesOfFailure } from "../kernel/tool/bundle/error.ts";
import type { Configuration } from "../server/config/configuration.ts";
import { CONFIG, TOOLS, engineOptions, readSettings, type Sources, withFolder, withSamples } from "./open-engine.ts";
import { say } from "./output.ts";
import { type Config, LOG_LEVELS, type LogLevel } from "../server/config/schema.ts";
import { openLog } from "./service-log.ts";
import type { Watch } from "./watch.ts";
import { mayToolsPause, openKept } from "./waiting-call.ts";

interface Options {
  readonly tools?: string;
  readonly config?: string;
  readonly code?: true;
  readonly watch?: true;
  readonly logLevel: LogLevel;
}

const SIGNALS = ["SIGTERM", "SIGINT"] as const;
const STDIN = 0;
const DRAIN_MS = 2_000;

/** `glovebox mcp`: serves a folder of tools to the client that started this process. Only the protocol uses stdout. */
export function mcpCommand(): Command {
  return withFolder(new Command("mcp"))
    .description("serve a folder of tools to an MCP client over stdin and stdout")
    .option(...TOOLS)
    .option(...CONFIG)
    .option("--code", "serve run_code and search_tools in place of the tools, for programs of a model")
    .option("--watch", "reload when the configuration, a tool, or a file that one is made of changes on disk")
    .addOption(
      new Option("--log-level <level>", "lowest level that is logged, on stderr (JSON lines; text on a terminal)")
        .choices(LOG_LEVELS)
        .default("warn"),
    )
    .action(serve);
}

async function serve(
  _dir: string | undefined,
  { logLevel, code, watch, ...sources }: Options,
  command: Command,
): Promise<void> {
  const settings = await readSettings(sources.config);
  const { values: config } = settings;
  const logger = await openLog(logLevel);
  // The pair also exists if the configuration does not enable it.
  const codeMode = code === true ? { codeMode: config.codeMode ?? {} } : {};
  const onUnusable = (why: string): void =>
    logger.warn(
      `calls that wait for a person are lost when this process ends: ${why}; set stateDir in the configuration`,
    );
  const kept = { options: { logger, ...codeMode }, resume: true, onUnusable };
  const { engine, options } = await openKept(
    sources,
    config,
    kept,
    (opened) => code === true || mayToolsPause(opened, config),
  );
  if (isatty(STDIN))
    say("glovebox: waits for messages of an MCP client, which starts this command itself: glovebox docs how-to/mcp");
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
  const watching = watch === true ? await watchWith(sources, settings, engine, options) : null;
  await Promise.race([connection.closed, aSignal()]);
  watching?.[Symbol.dispose]();
  await connection.close();
  await engine.close({ drainMs: DRAIN_MS });
  await stores[Symbol.asyncDispose]();
}

/** Reads tools, policy and limits again when they change; the client is notified if its tools have changed. */
async function watchWith(
  { tools }: Sources,
  { values, file }: Configuration,
  engine: Engine,
  options: EngineOptions,
): Promise<Watch> {
  const { watchSources } = await import("./watch.ts");
  const named = (config: Config): Config => (tools === undefined ? config : { ...config, tools: [tools] });
  const watching = watchSources({ values: named(values), file }, engine, async () => {
    const sinceMs = Date.now();
    let failed: readonly string[] = [];
    try {
      const { values: read } = await readSettings(file);
      await engine.reconfigure({ ...withSamples(engineOptions(named(read))), ...options });
    } catch (error) {
      failed = filesOfFailure(error);
      const reason = error instanceof Error ? error.message : String(error);
      say(`glovebox: warning: not reloaded, nothing has changed: ${reason}`);
    }
    watching.follow([...engine.sourceFiles(), ...failed], sinceMs);
  });
  return watching;
}

/** Resolves at the first stop signal. */
function aSignal(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of SIGNALS) process.once(signal, () => resolve());
  });
}
