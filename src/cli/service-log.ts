import { hostname } from "node:os";
import { isatty } from "node:tty";
import type { DestinationStream, Logger, pino as Pino } from "pino";
import { SERVICE_DEFAULTS } from "../server/config/effective.ts";
import type { LogLevel } from "../server/config/schema.ts";
import { EXIT } from "./exit.ts";
import { escapeControl, sendNotices } from "./output.ts";

const STDERR = 2;
const WARN = 40;
const LEVELS: { readonly [level: number]: string } = { 10: "trace", 20: "debug", 30: "info", 40: "warn", 50: "error" };
/** Fields of every line. `pid` and `name` are not among them, as events have their own. */
const BASE = { service: "glovebox", hostname: hostname() };

/** Lines that wait for a slow reader of stderr, in bytes; further ones are dropped and counted. */
const WAITING_MAX = 16 * 1024 * 1024;

/** One for all loggers of the process: writes of two could be mixed within a line. */
let stderr: DestinationStream | null = null;

/** Creates a service's log on stderr: JSON lines, or text on a terminal. */
export async function openLog(level: LogLevel = SERVICE_DEFAULTS.logLevel): Promise<Logger> {
  const { pino } = await import("pino");
  stderr ??= isatty(STDERR) ? { write: (line) => process.stderr.write(asText(line)) } : boundedStderr(pino);
  return pino({ level, base: BASE, formatters: { log: withoutBaseKeys } }, stderr);
}

function boundedStderr({ destination }: typeof Pino): DestinationStream {
  const lines = destination({ dest: STDERR, maxLength: WAITING_MAX });
  let dropped = 0;
  lines.on("drop", () => dropped++);
  lines.on("drain", () => {
    if (dropped === 0) return;
    const msg = "lines of this log were dropped, because nobody read stderr";
    lines.write(`${JSON.stringify({ level: WARN, time: Date.now(), ...BASE, dropped, msg })}\n`);
    dropped = 0;
  });
  return lines;
}

/**
 * Makes all further output of this process on stderr lines of JSON: notices, the reason for a failed start, Node's
 * warnings, and an uncaught error, which ends it. On a terminal all of it stays text.
 */
export async function logAll(): Promise<void> {
  if (isatty(STDERR)) return;
  // Notices appear at every log level.
  const notices = await openLog("info");
  sendNotices((text, fields, level) => {
    const [, isWarning, message = text] = /^(?:glovebox: )?(warning: )?(.*)$/s.exec(text) ?? [];
    notices[isWarning === undefined ? level : "warn"](fields, message);
  });
  // Node has its own listener, which writes text.
  process.removeAllListeners("warning").on("warning", ({ name, message }) => notices.warn({ warning: name }, message));
  process.on("uncaughtException", (error: unknown) => {
    const { message, stack } = error instanceof Error ? error : { message: String(error), stack: undefined };
    notices.fatal({ stack }, `an error that nobody has caught ends this process: ${message}`);
    process.exit(EXIT.FAILED);
  });
}

/** Removes the fields that every line has, so that no line contains a key twice. */
function withoutBaseKeys(fields: Record<string, unknown>): Record<string, unknown> {
  const { level: _level, time: _time, msg: _msg, service: _service, hostname: _hostname, ...others } = fields;
  return others;
}

/** A log line as text: `glovebox: [warn] an executor was lost and replaced reason="exit"`. */
function asText(line: string): string {
  const {
    level,
    msg,
    time: _time,
    service: _service,
    hostname: _hostname,
    ...fields
  } = JSON.parse(line) as {
    readonly level: number;
    readonly msg: string;
    readonly [field: string]: unknown;
  };
  const shown = Object.entries(fields).map(([name, value]) => ` ${name}=${JSON.stringify(value)}`);
  return `${escapeControl(`glovebox: [${LEVELS[level] ?? level}] ${msg}${shown.join("")}`)}\n`;
}
