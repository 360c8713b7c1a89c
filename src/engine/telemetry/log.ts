import { RateLimiter } from "../../broker/capabilities/rate-limit.ts";
import type { Events } from "./events.ts";

/** Takes log lines: pino's own shape, so that a pino logger is one. */
export interface Logger {
  /** Gets a line for each thing that a call asks the host for. */
  trace?(fields: object, message: string): void;
  /** Gets a line for each call that has ended. */
  debug?(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  /** Whether lines of a level are wanted: no others are made. Default: all for which there is a function. */
  isLevelEnabled?(level: string): boolean;
}

/**
 * Writes a line for each thing that happens to an engine's executors and tools: as rare as they are, an operator wants
 * to read of all of them. Calls are not among them: see `logCalls`.
 */
export function logEvents(events: Events, logger: Logger): void {
  events.on("executor:start", (event) => logger.info(event, "an executor process went to work"));
  events.on("executor:lost", (event) => logger.warn(event, "an executor was lost and replaced"));
  events.on("executor:recycle", (event) => logger.info(event, "an executor process makes room for a fresh one"));
  events.on("executor:delay", (event) => logger.warn(event, "executors are lost so fast that the next one waits"));
  events.on("fleet:join", (event) => logger.info(event, "a worker machine of the fleet takes calls"));
  events.on("fleet:leave", (event) => logger.warn(event, "a worker machine of the fleet is gone"));
  events.on("fleet:damage", (event) => logger.warn(event, "something came from the fleet that cannot be read"));
  events.on("call:restart", (event) => logger.info(event, "a call starts again that lost its executor"));
  events.on("tool:quarantine", (event) => logger.warn(event, "a tool ended an executor and runs apart from now on"));
  events.on("tool:refuse", (event) => logger.warn(event, "a tool is refused for a while to whom it ended executors"));
  events.on("tool:probe", (event) => logger.info(event, "one call shows whether a tool ends executors still"));
  events.on("tool:clear", (event) => logger.info(event, "a tool runs among the others again"));
  events.on("audit:drop", (event) => logger.warn(event, "the audit lost entries, because it could not write them"));
  events.on("tool:register", ({ info: { name, version, isolation }, replaced, findings }) => {
    logger.info({ tool: name, version, isolation, replaced }, "a tool was registered");
    for (const finding of findings) logger.warn({ tool: name, ...finding }, "a tool asks for what it will not get");
  });
  events.on("package:step", ({ failed, ...event }) => {
    if (failed) logger.warn(event, "a package could not be made ready");
    else logger.info(event, "a package is a step further");
  });
  events.on("tool:unregister", ({ name }) => logger.info({ tool: name }, "a tool was removed"));
  logRefusals(events, logger);
  events.on("engine:reconfigure", (event) => {
    logger.info(event, "other options are in force");
    const { needRestart } = event;
    if (needRestart.length > 0) logger.warn({ options: needRestart }, "options have changed that need a restart");
  });
  events.on("engine:close", () => logger.info({}, "the engine takes no more calls"));
}

/** Whoever is refused may come again at once, as often as wanted: more lines than these say nothing new. */
const REFUSALS = { calls: 10, perMs: 10_000 };

function logRefusals(events: Events, logger: Logger): void {
  const lines = new RateLimiter(REFUSALS);
  let unsaid = 0;
  events.on("door:refuse", (event) => {
    if (lines.take("", performance.now()) > 0) return void unsaid++;
    logger.warn(unsaid === 0 ? event : { ...event, unsaid }, "a request was refused at the door");
    unsaid = 0;
  });
}
