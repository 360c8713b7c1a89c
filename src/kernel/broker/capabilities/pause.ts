import { parseWithDigits } from "../../base/exact-json.ts";
import type { JsonSchema } from "../../base/json.ts";
import type { AskedPause, Capability, OpenCall, PauseCall } from "./capability.ts";
import { wholeGrants } from "./names.ts";

/** Names of signals. */
export const SIGNAL_NAME = "^[\\w.:-]{1,128}$";
const MESSAGE_MAX = 2_000;
/** Maximum length of the schema of a form that a person fills in, in characters of JSON. */
const SCHEMA_MAX = 16_384;
/** The longest wait: 90 days. */
export const PAUSE_MAX_MS = 90 * 24 * 60 * 60 * 1_000;

const EXPIRES = { type: "integer", minimum: 1_000, maximum: PAUSE_MAX_MS } as const;

/** Methods by which a call pauses: their answers may take days, and nothing of the call is held meanwhile. */
export const PAUSE_METHODS: Pick<Capability, "methods"> = {
  methods: {
    approval: {
      input: {
        type: "object",
        properties: {
          message: { type: "string", minLength: 1, maxLength: MESSAGE_MAX },
          data: true,
          schema: { type: "object" },
          expiresMs: EXPIRES,
        },
        required: ["message"],
        additionalProperties: false,
      },
      isRead: true,
    },
    signal: {
      input: {
        type: "object",
        properties: { name: { type: "string", pattern: SIGNAL_NAME }, expiresMs: EXPIRES },
        required: ["name"],
        additionalProperties: false,
      },
      isRead: true,
    },
    until: {
      input: {
        type: "object",
        properties: { date: { type: ["string", "number"] } },
        required: ["date"],
        additionalProperties: false,
      },
      isRead: true,
    },
  },
};

interface PauseArguments {
  readonly message?: string;
  readonly data?: unknown;
  readonly schema?: JsonSchema;
  readonly name?: string;
  readonly expiresMs?: number;
  readonly date?: string | number;
}

/** Reads a method of `PAUSE_METHODS` with arguments that match its schema. Throws an error for the tool. */
export function readPause(method: string, args: unknown, nowMs: number): AskedPause {
  const { message = "", data = null, schema = null, name = "", expiresMs, date } = args as PauseArguments;
  const expires = expiresMs === undefined ? null : expiresMs;
  switch (method) {
    case "approval":
      return { kind: "approval", message, data: plain(data), schema: readForm(schema), expiresMs: expires };
    case "signal":
      return { kind: "signal", name, expiresMs: expires };
    default: {
      const untilMs = new Date(date ?? "").getTime();
      if (Number.isFinite(untilMs) && untilMs <= nowMs + PAUSE_MAX_MS) return { kind: "time", untilMs };
      throw new TypeError("date is a time in ISO 8601 or milliseconds since 1970, at most 90 days ahead");
    }
  }
}

/** The schema of a form for a person. Refuses long integers: the page and the check read them as JavaScript numbers. */
function readForm(schema: JsonSchema | null): JsonSchema | null {
  const text = JSON.stringify(schema);
  if (text.length > SCHEMA_MAX) throw new TypeError(`schema has at most ${SCHEMA_MAX} characters of JSON`);
  if (JSON.stringify(plain(schema)) !== text) throw new TypeError("schema has no integers beyond 2^53 - 1");
  return schema;
}

/** A value that is stored for people. Long integers are objects here, which cannot be sent to a thread. */
function plain(value: unknown): unknown {
  return parseWithDigits(JSON.stringify(value));
}

/** The function by which a call waits. Throws if the call cannot wait. */
export function pauseOf({ pause }: Pick<OpenCall, "pause">): PauseCall {
  if (pause === undefined) throw new Error("the call cannot wait here");
  return pause;
}

/** `pause`: a call waits for a person, for a signal or for a time, and is kept meanwhile. */
export function createPause(): Capability<true> {
  return {
    name: "pause",
    grants: wholeGrants,
    ...PAUSE_METHODS,
    open: (call) => ({
      invoke: (method, args, step) => pauseOf(call)(step, readPause(method, args, Date.now())),
    }),
  };
}
