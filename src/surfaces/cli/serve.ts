import path from "node:path";
import { Command, InvalidArgumentError, Option } from "commander";
import { StoreError } from "../../capabilities/kv/failure.ts";
import type { Config, Engine, EngineOptions, ExecutorKind, ExecutorOptions, SandboxMode } from "../../index.ts";
import { SANDBOX_MODES, WORKERS_DEFAULT } from "../../options.ts";
import type { Server } from "../http/server.ts";
import { CliError, EXIT } from "./exit.ts";
import { openEngine, readConfig } from "./open-engine.ts";
import { print, say } from "./output.ts";

interface Options {
  readonly tools?: string;
  readonly config?: string;
  readonly host?: string;
  readonly port?: number;
  readonly workers?: number;
  readonly executor?: ExecutorKind;
  readonly sandbox?: SandboxMode;
  readonly drainMs: number;
  readonly assets?: string;
  readonly logLevel: string;
}

export const LOG_LEVELS = ["info", "warn", "silent"];

/** Who calls a service again does so after its restart as well. */
const IDEMPOTENCY_PATH = path.join(".glovebox", "idempotency.sqlite");

const SIGNALS = ["SIGTERM", "SIGINT"] as const;
/** A terminal signals all processes of its group, and npm passes on what it gets: that is one signal that comes twice. */
const ECHO_MS = 500;

/** `glovebox serve`: the tools of a folder over HTTP. */
export function serveCommand(): Command {
  return new Command("serve")
    .description("serve the tools of a folder over HTTP")
    .option("--tools <dir>", "folder of tools (default: the configuration's, else the samples)")
    .option("--config <file>", "configuration (default: glovebox.config.yaml or .json, where there is one)")
    .option("--host <address>", "address to listen on (default: 127.0.0.1)")
    .option("--port <number>", "port to listen on, 0 for any that is free (default: 8080)", wholeNumber(0, 65_535))
    .option("--workers <number>", `isolate threads (default: ${WORKERS_DEFAULT})`, wholeNumber(1, 64))
    .addOption(
      new Option("--executor <kind>", "where isolates live (default: process)").choices(["process", "threads"]),
    )
    .addOption(
      new Option("--sandbox <mode>", "the system's walls around executors (default: auto)").choices(SANDBOX_MODES),
    )
    .option("--drain-ms <number>", "how long calls may go on after a signal", wholeNumber(0, 3_600_000), 5_000)
    .option("--assets <dir>", "take uploads of AgentSpace's packages, and keep them in this folder")
    .addOption(
      new Option("--log-level <level>", "what is logged, as JSON lines on stderr").choices(LOG_LEVELS).default("warn"),
    )
    .action(serve);
}

async function serve(options: Options): Promise<void> {
  const { drainMs, logLevel } = options;
  const config = await readConfig(options.config);
  const { host = config.host ?? "127.0.0.1", port = config.port ?? 8_080 } = options;
  const { pino } = await import("pino");
  const logger = pino({ name: "glovebox", level: logLevel }, pino.destination(2));
  const idempotency = { path: IDEMPOTENCY_PATH, ...config.idempotency };
  const engine = await openEngine(options, config, { ...executorOptions(options, config), idempotency, logger });
  const { createServer } = await import("../http/server.ts");
  let server: Server;
  try {
    server = await createServer(engine, {
      host,
      port,
      drainMs,
      ...(options.assets === undefined ? {} : { assets: { path: options.assets } }),
    });
  } catch (error) {
    await engine.close({ drainMs: 0 });
    if (error instanceof StoreError) throw new CliError(EXIT.USAGE, error.message);
    const { code = "unknown error" } = error as NodeJS.ErrnoException;
    throw new CliError(EXIT.USAGE, `cannot listen on ${host}, port ${port}: ${code}`);
  }
  stopOnSignal(server);
  if (!isLoopback(host)) {
    say(`glovebox: warning: there is no authentication yet, and whoever reaches ${server.url} may call every tool`);
  }
  if (engine.stats().executor.kind === "process") say(`glovebox: ${describeSandbox(engine)}`);
  print(`glovebox listening on ${server.url}`);
}

/** What the command line says goes before what the configuration says. */
function executorOptions({ workers, executor, sandbox }: Options, config: Config): EngineOptions {
  const said: Partial<ExecutorOptions> =
    typeof config.executor === "string" ? { kind: config.executor } : (config.executor ?? {});
  const count = workers ?? config.workers;
  return {
    executor: {
      ...said,
      kind: executor ?? said.kind ?? "process",
      ...(sandbox === undefined ? {} : { sandbox }),
    },
    ...(count === undefined ? {} : { workers: count }),
  };
}

function describeSandbox(engine: Engine): string {
  const { sandbox } = engine.stats().executor;
  if (sandbox.kind === "off") return `executors run without a sandbox of the operating system: ${sandbox.reason}`;
  return `executors run inside ${sandbox.kind}`;
}

function stopOnSignal(server: Server): void {
  let first: { readonly signal: NodeJS.Signals; readonly atMs: number } | null = null;
  const onSignal = (signal: NodeJS.Signals): void => {
    const atMs = performance.now();
    if (first === null) {
      first = { signal, atMs };
      say("glovebox: stopping; once more stops at once");
      void stop(server);
    } else if (signal !== first.signal || atMs - first.atMs > ECHO_MS) {
      process.exit(EXIT.INTERRUPTED);
    }
  };
  for (const signal of SIGNALS) process.on(signal, onSignal);
}

/** With the server closed nothing keeps this process, but for the listeners of signals. */
async function stop(server: Server): Promise<void> {
  try {
    await server.close();
    process.exitCode = EXIT.OK;
  } catch (error) {
    say(`glovebox: ${error instanceof Error ? error.message : String(error)}`);
    process.exitCode = EXIT.FAILED;
  }
  for (const signal of SIGNALS) process.removeAllListeners(signal);
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127(?:\.\d{1,3}){3}$/.test(host);
}

function wholeNumber(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= least && value <= most) return value;
    throw new InvalidArgumentError(`It is a whole number from ${least} to ${most}.`);
  };
}
