import { type RateLimit, RateLimiter } from "../../broker/capabilities/rate-limit.ts";
import type { Events } from "./events.ts";

/** Receives log lines. Pino's interface, so that a pino logger fits. */
export interface Logger {
  /** Receives a line for each capability call. */
  trace?(fields: object, message: string): void;
  /** Receives a line for each ended call. */
  debug?(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  /** Whether a level is enabled; lines of other levels are not built. Default: every level that has a function. */
  isLevelEnabled?(level: string): boolean;
}

/** Targets of lines: at two levels. */
type Lines = Pick<Logger, "info" | "warn">;

/**
 * Writes a line for each event of executors and tools: an operator wants to see all of them, unless there are floods.
 * Calls are logged by `logCalls`.
 */
export function logEvents(events: Events, all: Logger): void {
  const [logger, few] = [sparing(all, MANY), sparing(all, FEW)];
  events.on("executor:start", (event) => logger.info(event, "an executor process started serving"));
  events.on("executor:lost", (event) => logger.warn(event, "an executor was lost and replaced"));
  events.on("executor:recycle", (event) => logger.info(event, "an executor process is being replaced by a fresh one"));
  events.on("executor:delay", (event) => logger.warn(event, "executors crash repeatedly; the next start is delayed"));
  events.on("fleet:join", (event) => logger.info(event, "a worker machine joined the fleet"));
  events.on("fleet:leave", (event) => logger.warn(event, "a worker machine left the fleet"));
  events.on("fleet:wait", ({ problem, waitMs }) =>
    logger.warn({ waitMs }, `the start waits for a worker machine: ${problem}`),
  );
  events.on("fleet:damage", (event) => logger.warn(event, "an unreadable message from the fleet was dropped"));
  events.on("redis:down", ({ message, ...event }) => logger.warn(event, message));
  events.on("redis:up", (event) => logger.warn(event, "Redis can be used again"));
  events.on("call:restart", (event) => logger.info(event, "a call is restarted because its executor was lost"));
  events.on("call:pause", (event) => logger.info(event, "a call waits, and is kept"));
  events.on("call:doubt", (event) => logger.warn(event, "nobody knows whether an effect of a call has happened"));
  events.on("call:resume", (event) => logger.info(event, "a call goes on that has waited"));
  events.on("call:decide", (event) => logger.info(event, "somebody has decided what a call waits for"));
  events.on("call:signal", (event) => logger.info(event, "somebody has sent a signal to a call that waits"));
  events.on("call:cancel", (event) => logger.info(event, "somebody has ended a call that waits"));
  events.on("call:undo", (event) => logger.info(event, "somebody has asked that a call is undone"));
  events.on("snippet:save", (event) => logger.info(event, "a program was saved as a tool of a tenant"));
  events.on("snippet:delete", (event) => logger.info(event, "a saved program was deleted"));
  logNotifications(events, logger, few);
  events.on("tool:quarantine", (event) => logger.warn(event, "a tool crashed an executor and is quarantined"));
  events.on("tool:refuse", (event) => logger.warn(event, "calls of a quarantined tool are refused for a tenant"));
  events.on("tool:probe", (event) => logger.info(event, "a quarantined tool runs one probe call"));
  events.on("tool:clear", (event) => logger.info(event, "a tool left quarantine"));
  events.on("broker:lost", (event) => logger.warn(event, "the broker thread ended; another one starts when needed"));
  events.on("host:pressure", (event) =>
    logger.warn(event, event.isHigh ? "the machine is under pressure" : "the machine is under pressure no more"),
  );
  events.on("clock:jump", (event) =>
    logger.warn(
      event,
      "the system's clock jumped: keys, kv entries and waits that are kept until a time end early or late by as much; check the machine's time synchronisation",
    ),
  );
  events.on("tenant:throttled", (event) => logger.warn(event, "a tenant's capability calls use more than its share"));
  events.on("audit:down", (event) =>
    logger.warn(event, "the audit's file takes no entries: they wait, and are dropped from 10,000 on; make room there"),
  );
  events.on("audit:up", (event) => logger.info(event, "the audit's file takes entries again"));
  events.on("audit:drop", (event) => logger.warn(event, "the audit dropped entries that it could not write in time"));
  events.on("calls:drop", (event) =>
    logger.warn(event, "calls were not kept: their store could not write them in time"),
  );
  events.on("calls:down", ({ problem, ...event }) => logger.warn(event, `calls cannot be kept: ${problem}`));
  events.on("calls:up", (event) => logger.info(event, "calls can be kept again"));
  events.on("calls:renew", (event) => logger.warn(event, "the store of calls began another file"));
  events.on("tool:omit", (event) => logger.warn(event, "a tool of a module was left out"));
  events.on("package:step", ({ failed, ...event }) => {
    if (failed) logger.warn(event, "a package step failed");
    else logger.info(event, "a package step completed");
  });
  logConnectors(events, logger);
  logTools(events, all);
  logStrangers(events, few);
  events.on("engine:reconfigure", (event) => {
    logger.info(event, "the engine was reconfigured");
    const { needRestart } = event;
    if (needRestart.length > 0) logger.warn({ options: needRestart }, "changed options need a restart to take effect");
  });
  events.on("engine:close", () => logger.info({}, "the engine is closing and accepts no more calls"));
}

/** Maximum number of names in a line: a server may have thousands of tools. */
const NAMES_MAX = 50;

function logConnectors(events: Events, logger: Lines): void {
  events.on("connector:up", (event) => logger.info(event, "a connector's server can be called"));
  events.on("connector:down", (event) => logger.warn(event, "a connector's server cannot be reached"));
  events.on("connector:login", (event) => {
    if (event.state === "ready") logger.info(event, "a connector has a token");
    else if (event.state === "needed") logger.warn(event, "a connector needs a login");
    else logger.warn(event, "a connector's token cannot be renewed now");
  });
  events.on("connector:change", ({ added, removed, changed, ...event }) => {
    const [some, gone, other] = [added, removed, changed].map((names) => names.slice(0, NAMES_MAX));
    const fields = { ...event, added: some, removed: gone, changed: other };
    if (event.isTaken) logger.info(fields, "a connector's server has other tools");
    else logger.warn(fields, "a connector's server has other tools than its pin names; they were not taken in");
  });
}

function logNotifications(events: Events, logger: Lines, few: Lines): void {
  events.on("call:notify", (event) => {
    const { outcome } = event;
    if (outcome === "failed") few.warn(event, "a target did not take a notification; it is tried again, for a day");
    if (outcome === "given_up") logger.warn(event, "a notification was given up: its target did not take it");
    if (outcome === "dropped") logger.warn(event, "notifications were dropped: too many waited");
  });
}

/** Lines for each tool: a server may have thousands of tools. */
function logTools(events: Events, logger: Lines): void {
  events.on("tool:register", ({ info: { name, version, isolation }, replaced, findings, cut }) => {
    logger.info({ tool: name, version, isolation, replaced }, "a tool was registered");
    for (const finding of findings)
      logger.warn({ tool: name, ...finding }, "a tool requests a capability that the policy denies");
    for (const one of cut)
      logger.warn({ tool: name, ...one }, "a tool declares more than it may have: raise maxLimits to allow it");
  });
  events.on("tool:unregister", ({ name }) => logger.info({ tool: name }, "a tool was removed"));
}

/** Events that callers and the embedder's listeners may repeat without end. */
function logStrangers(events: Events, logger: Lines): void {
  events.on("request:refused", (event) => logger.warn(event, "a request was refused"));
  events.on("request:failed", (event) => logger.warn(event, "a request was answered with 500"));
  events.on("listener:error", ({ listener, error }) =>
    logger.warn(
      { listener, error: error instanceof Error ? error.message : String(error) },
      "a listener of the embedder failed; the call is not affected",
    ),
  );
}

/** Maximum lines with one text in a period. Further ones add nothing. */
const MANY = { calls: 100, perMs: 10_000 };
const FEW = { calls: 10, perMs: 10_000 };

/** Leaves out lines beyond the limit; the next one with their text has their number (`unsaid`). */
function sparing(logger: Lines, limit: RateLimit): Lines {
  const lines = new RateLimiter(limit);
  const unsaid = new Map<string, number>();
  const write =
    (level: keyof Lines) =>
    (fields: object, message: string): void => {
      const count = unsaid.get(message) ?? 0;
      if (lines.take(message, performance.now()) > 0) return void unsaid.set(message, count + 1);
      unsaid.delete(message);
      logger[level](count === 0 ? fields : { ...fields, unsaid: count }, message);
    };
  return { info: write("info"), warn: write("warn") };
}
