import path from "node:path";
import { isatty } from "node:tty";
import type { Logger } from "pino";
import { Command } from "commander";
import type { Configuration } from "../server/config/configuration.ts";
import { keptByDefault, SERVICE_DEFAULTS } from "../server/config/effective.ts";
import type { Config } from "../server/config/schema.ts";
import type { Engine } from "../kernel/engine/engine.ts";
import { type IdempotencyOptions, STATE_DIR, WORKERS_DEFAULT } from "../kernel/engine/options.ts";
import { claimGroups } from "../kernel/base/os/cgroup.ts";
import { watchClock } from "../kernel/base/os/clock-jumps.ts";
import { watchPressure } from "../kernel/base/os/pressure.ts";
import { StoreError } from "../kernel/base/errors.ts";
import { IN_MEMORY } from "../kernel/store/sqlite/layout.ts";
import type { Server } from "../server/http/server.ts";
import { CliError, EXIT } from "./exit.ts";
import { listenFailure } from "./listen-failure.ts";
import { CONFIG, openEngine, readSettings, withFolder, withSamples } from "./open-engine.ts";
import { warnOfFiles } from "./open-files.ts";
import { print, say } from "./output.ts";
import { Reload } from "./reload.ts";
import { forgetKeys, openTokens, requireLoopback, ServiceKeys } from "./service-keys.ts";
import type { Keys } from "../server/access/keys.ts";
import type { Tokens } from "../server/access/tokens.ts";
import { openLog } from "./service-log.ts";
import { ServiceManager, takeSocket } from "./service-manager.ts";
import { addSettingFlags, readFlags } from "./setting-flags.ts";
import { StopSignals } from "./stop-signals.ts";
import type { Watch } from "./watch.ts";

interface Options {
  readonly config?: string;
  readonly watch?: true;
}

const STDOUT = 1;
const STARTING =
  "it reads its tools, or waits for Redis or a worker machine of its fleet: its log says what is missing";
const FLAGS = [
  { flags: "--tools <dir>", setting: "tools", otherwise: "the configuration's, else the samples" },
  { flags: "--host <address>", setting: "host", otherwise: SERVICE_DEFAULTS.host },
  { flags: "--port <number>", setting: "port", otherwise: SERVICE_DEFAULTS.port },
  { flags: "--admin <mode>", setting: "admin" },
  { flags: "--workers <number>", setting: "workers", otherwise: WORKERS_DEFAULT },
  { flags: "--executor <kind>", setting: "executor/kind", otherwise: "process" },
  { flags: "--sandbox <mode>", setting: "executor/sandbox", otherwise: "auto" },
  { flags: "--drain-ms <number>", setting: "drainMs", otherwise: SERVICE_DEFAULTS.drainMs },
  { flags: "--drain-delay-ms <number>", setting: "drainDelayMs", otherwise: SERVICE_DEFAULTS.drainDelayMs },
  { flags: "--assets <dir>", setting: "assets/path" },
  { flags: "--agentspace <file>", setting: "agentspace/path" },
  { flags: "--root <dir>", setting: "root", otherwise: "found above each tool" },
  { flags: "--state-dir <dir>", setting: "stateDir", otherwise: STATE_DIR },
  { flags: "--keep-calls <what>", setting: "calls/keep", otherwise: "failures" },
  { flags: "--log-level <level>", setting: "logLevel", otherwise: SERVICE_DEFAULTS.logLevel },
];

/** `glovebox serve`: serves tools over HTTP. */
export function serveCommand(): Command {
  const command = withFolder(new Command("serve"))
    .description("serve a folder of tools over HTTP")
    .option(...CONFIG)
    .option("--watch", "reload when the configuration, a tool, or a file that one is made of changes on disk");
  return addSettingFlags(command, FLAGS).action((_dir: string | undefined, options: Options) =>
    serve(options, command),
  );
}

async function serve(options: Options, command: Command): Promise<void> {
  const fd = takeSocket(process.env);
  const flags = readFlags(command, FLAGS);
  // A copy for reloads: keys are removed from the process's own environment.
  const environment = { ...process.env };
  const settings = await readSettings(options.config, flags, environment);
  const { values, file } = settings;
  const keys = new ServiceKeys(values, environment);
  const tokens = await openTokens(values, environment);
  const isClosed = keys.keys.size > 0 || tokens !== undefined;
  if (!isClosed && fd === undefined) requireLoopback(values.host ?? SERVICE_DEFAULTS.host);
  // Remove keys before loading any tool that may be allowed to see the environment.
  forgetKeys(process.env, values);
  // Always reload the same file: if it was removed, the reload fails instead of applying defaults.
  const read = (): Promise<Configuration> => readSettings(file ?? options.config, flags, environment);
  const logger = await openLog(values.logLevel);
  claimGroups();
  watchPressure();
  watchClock();
  const engine = await startEngine(values, logger, fd);
  const server = await listen(
    engine,
    values,
    { keys: keys.keys, ...(tokens === undefined ? {} : { oauth: tokens }) },
    fd,
  );
  const manager = new ServiceManager(process.env);
  let watching: Watch | null = null;
  const reload = new Reload(
    { engine, logger, keys, read, complete: (options) => keptByDefault(withSamples(options)) },
    settings,
  );
  const reloadNow = async (): Promise<void> => {
    await manager.reloading();
    const sinceMs = Date.now();
    await reload.run();
    watching?.follow([...engine.sourceFiles(), ...reload.failedFiles], sinceMs);
    await manager.ready(`listening on ${server.url}`);
  };
  if (options.watch === true) watching = (await import("./watch.ts")).watchSources(settings, engine, reloadNow);
  onSignals(server, manager, reloadNow, () => watching?.[Symbol.dispose]());
  warn(engine, isClosed);
  print(`glovebox listening on ${server.url}`);
  if (isatty(STDOUT)) {
    const { firstRun } = await import("./first-run.ts");
    for (const line of firstRun(engine, server.url, isClosed)) print(line);
  }
  void manager.ready(`listening on ${server.url}`);
}

/** Starts the engine. Probes are answered meanwhile if it may wait for worker machines. */
async function startEngine(values: Config, logger: Logger, fd: number | undefined): Promise<Engine> {
  const { port, reusePort, executor } = { ...SERVICE_DEFAULTS, ...values };
  // An inherited socket keeps clients waiting; a shared port has another process that serves them.
  const isOfFleet = typeof executor === "object" && executor.kind === "queue";
  const isProbed = isOfFleet && fd === undefined && port !== 0 && reusePort !== true;
  await using _probes = isProbed ? await openProbes(values) : null;
  const engine = await openEngine({}, values, {
    calls: keptByDefault(values).calls ?? {},
    idempotency: storeOf(values),
    logger,
  });
  await requireRedis(engine);
  return engine;
}

async function openProbes(values: Config): Promise<AsyncDisposable> {
  const { openStartSurface } = await import("../server/http/worker-surface.ts");
  const { host, port } = { ...SERVICE_DEFAULTS, ...values };
  try {
    return await openStartSurface(STARTING, host, port);
  } catch (error) {
    throw listenFailure(error, `${host}, port ${port}`);
  }
}

/** Keeps calls with idempotency keys on disk by default, so that clients can retry across restarts. */
function storeOf({ idempotency, calls, stateDir = STATE_DIR }: Config): IdempotencyOptions {
  if (idempotency?.url !== undefined) return idempotency;
  const kept = calls?.path === IN_MEMORY ? undefined : calls?.path;
  return { path: kept ?? path.join(stateDir, "calls.sqlite"), ...idempotency };
}

/** Ends the process if a store in Redis fails all calls that need it until an operator solves its problem. */
async function requireRedis(engine: Engine): Promise<void> {
  const outage = engine.stats().redis?.find(({ isLasting }) => isLasting);
  if (outage === undefined) return;
  await engine.close({ drainMs: 0 });
  throw new CliError(EXIT.USAGE, outage.problem);
}

async function listen(
  engine: Engine,
  values: Config,
  holders: { readonly keys: Keys; readonly oauth?: Tokens },
  fd: number | undefined,
): Promise<Server> {
  const { createServer } = await import("../server/http/server.ts");
  const { host, port } = { ...SERVICE_DEFAULTS, ...values };
  const { drainMs = SERVICE_DEFAULTS.drainMs, drainDelayMs = SERVICE_DEFAULTS.drainDelayMs } = values;
  const { bodyBytes, reusePort, assets, agentspace } = values;
  try {
    return await createServer(engine, {
      ...(fd === undefined ? { host, port } : { fd }),
      drainMs,
      ...holders,
      ...(values.admin === undefined ? {} : { admin: values.admin }),
      ...(values.hosts === undefined ? {} : { hosts: values.hosts }),
      ...(values.publicUrl === undefined ? {} : { publicUrl: values.publicUrl }),
      ...(values.origins === undefined ? {} : { origins: values.origins }),
      drainDelayMs,
      ...(bodyBytes === undefined ? {} : { bodyBytes }),
      ...(reusePort === undefined ? {} : { reusePort }),
      ...(assets === undefined ? {} : { assets }),
      ...(agentspace === undefined ? {} : { agentspace }),
    });
  } catch (error) {
    await engine.close({ drainMs: 0 });
    if (error instanceof StoreError || error instanceof TypeError) throw new CliError(EXIT.USAGE, error.message);
    throw listenFailure(error, fd === undefined ? `${host}, port ${port}` : `the socket that was handed over`);
  }
}

function warn(engine: Engine, isClosed: boolean): void {
  warnOfFiles();
  if (!isClosed) {
    say("glovebox: no keys are configured: only this machine reaches the server, and every process on it may use it");
  }
  const { kind, sandbox } = engine.stats().executor;
  if (kind !== "process") return;
  // On a terminal, the list of missing walls has it.
  if (sandbox.kind === "off" && isatty(STDOUT)) return;
  if (sandbox.kind !== "off") return say(`glovebox: executors run inside ${sandbox.kind}`);
  say(`glovebox: executors run without a sandbox of the operating system: ${sandbox.reason}`);
}

/** SIGTERM and SIGINT stop the service, a second one at once; SIGHUP reloads, or stops if the terminal was closed. */
function onSignals(server: Server, manager: ServiceManager, reload: () => Promise<void>, onStop: () => void): void {
  const wasTerminal = isatty(2);
  const signals = new StopSignals(() => {
    onStop();
    void manager.stopping();
    void stop(server, manager).finally(() => {
      signals[Symbol.dispose]();
      process.removeAllListeners("SIGHUP");
    });
  });
  process.on("SIGHUP", () => {
    if (wasTerminal && !isatty(2)) signals.take("SIGHUP");
    else if (!signals.hasBegun) void reload();
  });
}

/** After the server has closed, only signal listeners keep the process alive. */
async function stop(server: Server, manager: ServiceManager): Promise<void> {
  try {
    await server.close();
    process.exitCode = EXIT.OK;
  } catch (error) {
    say(`glovebox: ${error instanceof Error ? error.message : String(error)}`);
    process.exitCode = EXIT.FAILED;
  }
  manager[Symbol.dispose]();
}
