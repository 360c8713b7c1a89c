import { Command, Option } from "commander";
import { openEngine, readConfig } from "./open-engine.ts";
import { say } from "./output.ts";
import { LOG_LEVELS } from "./serve.ts";

interface Options {
  readonly tools?: string;
  readonly config?: string;
  readonly logLevel: string;
}

const SIGNALS = ["SIGTERM", "SIGINT"] as const;
const DRAIN_MS = 2_000;

/** `glovebox mcp`: the tools of a folder for a client that started this process. Stdout is the protocol's alone. */
export function mcpCommand(): Command {
  return new Command("mcp")
    .description("serve the tools of a folder to a client of the Model Context Protocol, over stdin and stdout")
    .option("--tools <dir>", "folder of tools (default: the configuration's, else the samples)")
    .option("--config <file>", "configuration (default: glovebox.config.yaml or .json, where there is one)")
    .addOption(
      new Option("--log-level <level>", "what is logged, as JSON lines on stderr").choices(LOG_LEVELS).default("warn"),
    )
    .action(serve);
}

async function serve({ logLevel, ...sources }: Options, command: Command): Promise<void> {
  const config = await readConfig(sources.config);
  const { pino } = await import("pino");
  const logger = pino({ name: "glovebox", level: logLevel }, pino.destination(2));
  const engine = await openEngine(sources, config, { logger });
  const { serveStdio } = await import("@modelcontextprotocol/server/stdio");
  const { createMcpServer } = await import("../mcp/server.ts");
  const identity = { name: "glovebox", version: command.parent?.version() ?? "0.0.0" };
  const served = serveStdio(() => createMcpServer(engine, identity), {
    onerror: ({ message }) => say(`glovebox: ${message}`),
  });
  await untilStopped();
  await served.close();
  await engine.close({ drainMs: DRAIN_MS });
}

/** A client ends its server by closing its stdin, and whoever started both by a signal. */
function untilStopped(): Promise<void> {
  return new Promise((resolve) => {
    const stop = (): void => {
      for (const signal of SIGNALS) process.off(signal, stop);
      process.stdin.off("close", stop).off("end", stop);
      resolve();
    };
    for (const signal of SIGNALS) process.on(signal, stop);
    process.stdin.on("end", stop).on("close", stop);
  });
}
