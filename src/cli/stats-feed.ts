import type { JsonSchema } from "../kernel/base/json.ts";
import { compileSchema } from "../kernel/base/schema/schema.ts";
import type { StatsSnapshot } from "../server/http/stats-sampler.ts";
import { CliError, EXIT } from "./exit.ts";
import { ask, eventsOf, parseJson, type RemoteServer, textOf, tooLong } from "./remote-server.ts";

/** Response of `GET /v1/stats`; only the shown fields are checked, as the server may be of another version. */
export type Snapshot = StatsSnapshot;

/** Rates of one tool's calls in the last second. */
export type ToolLine = Snapshot["tools"][number];

const ANSWERS_WITHIN_MS = 10_000;
/** Maximum time without a snapshot; the server sends one each second. */
const SILENCE_MS = 10_000;
const SNAPSHOT_MAX_CHARS = 1024 * 1024;

const NUMBER = { type: "number" };
const TEXT = { type: "string" };
const BOOLEAN = { type: "boolean" };
const MILLISECONDS = { type: ["number", "null"] };

/** Schema of an object with required and optional properties, and any others of later versions. */
function all(properties: Record<string, JsonSchema>, others: Record<string, JsonSchema> = {}): JsonSchema {
  return { type: "object", properties: { ...properties, ...others }, required: Object.keys(properties) };
}

const MACHINE = all({
  id: TEXT,
  host: { type: ["string", "null"] },
  state: TEXT,
  slots: NUMBER,
  busySlots: NUMBER,
  protocols: { type: "array", items: NUMBER },
  isSandboxed: BOOLEAN,
  silentMs: NUMBER,
});

const FLEET = all({
  machines: NUMBER,
  slots: NUMBER,
  busySlots: NUMBER,
  waitingJobs: NUMBER,
  isRedisUp: BOOLEAN,
  problem: { type: ["string", "null"] },
  seen: { type: "array", items: MACHINE },
  unlisted: NUMBER,
  unreadable: NUMBER,
});

const SNAPSHOT = all(
  {
    time: TEXT,
    uptimeMs: NUMBER,
    state: TEXT,
    calls: all({
      perSecond: NUMBER,
      errorsPerSecond: NUMBER,
      p50Ms: MILLISECONDS,
      p95Ms: MILLISECONDS,
      p99Ms: MILLISECONDS,
    }),
    queued: NUMBER,
    running: NUMBER,
    executor: all(
      { kind: TEXT, ready: BOOLEAN, spareReady: BOOLEAN, rssBytes: NUMBER, sandbox: all({ kind: TEXT }) },
      { fleet: FLEET },
    ),
    isolates: all({ active: NUMBER, warm: NUMBER, blank: NUMBER }),
    restarts: NUMBER,
    quarantined: { type: "array", items: TEXT },
    tools: {
      type: "array",
      items: all({
        name: TEXT,
        callsPerSecond: NUMBER,
        errorsPerSecond: NUMBER,
        cpuMsPerSecond: NUMBER,
        p99Ms: MILLISECONDS,
      }),
    },
    http: all({ connections: NUMBER, streams: NUMBER }),
  },
  // Servers of earlier versions do not send it.
  { problems: { type: "array", items: TEXT } },
);

/** Requests one snapshot. Rejects with a `CliError` if the server does not return one. */
export async function readSnapshot(server: RemoteServer): Promise<Snapshot> {
  const signal = AbortSignal.timeout(ANSWERS_WITHIN_MS);
  const response = await request(server, "application/json", signal);
  let text = "";
  for await (const part of textOf(response)) text = within(text + part);
  return parseSnapshot(text);
}

/**
 * Yields a snapshot each second until `signal` aborts or the server ends the stream. Throws a `CliError` if the server
 * refuses or stops sending.
 */
export async function* followSnapshots(server: RemoteServer, signal: AbortSignal): AsyncGenerator<Snapshot> {
  const silence = new AbortController();
  const timer = setTimeout(() => silence.abort(), SILENCE_MS);
  try {
    const response = await request(server, "text/event-stream", AbortSignal.any([signal, silence.signal]));
    for await (const events of eventsOf(response, SNAPSHOT_MAX_CHARS, "snapshot")) {
      // Skip to the latest snapshot after a pause.
      const latest = events.findLast((event) => event.startsWith("data:"));
      if (latest === undefined) continue;
      timer.refresh();
      yield parseSnapshot(latest.slice("data:".length));
    }
  } finally {
    clearTimeout(timer);
  }
}

function request(server: RemoteServer, accept: string, signal: AbortSignal): Promise<Response> {
  return ask(server, { path: "v1/stats", accept, signal, role: "metrics", missing: "stats" });
}

function within(text: string): string {
  if (text.length <= SNAPSHOT_MAX_CHARS) return text;
  throw tooLong("snapshot");
}

const check = compileSchema(SNAPSHOT, "outputSchema");

function parseSnapshot(text: string): Snapshot {
  const value = parseJson(text);
  if (check.check(value).length > 0) throw new CliError(EXIT.FAILED, "the server's answer is no snapshot");
  return Object.assign({ problems: [] }, value as Snapshot);
}
