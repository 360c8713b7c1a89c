import { existsSync } from "node:fs";
import type { JsonValue } from "../kernel/base/json.ts";
import type { ToolResult } from "../kernel/base/result.ts";
import { GloveboxError, StoreError } from "../kernel/base/errors.ts";
import { type UndoReport, WAIT_MAX_MS } from "../kernel/engine/durable/durable-calls.ts";
import type { Decision, DurableCall } from "../kernel/store/calls/durable/durable-call.ts";
import type { DurablePage } from "../kernel/store/calls/durable/durable-step.ts";
import { CliError, EXIT } from "./exit.ts";
import { openEngine, orUsage, readConfig } from "./open-engine.ts";
import { ask, readJson, remoteServer } from "./remote-server.ts";

/** The place of waiting calls: a server, or a file, with the tools for continuing them. */
export interface PlaceOptions {
  readonly url?: string;
  readonly keyEnv?: string;
  readonly file?: string;
  readonly tools?: string;
  readonly config?: string;
}

/** Calls that wait, as commands use them. Methods reject with a `CliError`. */
export interface DurablePlace extends AsyncDisposable {
  /** Whether calls continue in this process. */
  readonly isHere: boolean;
  list(filter: Readonly<Record<string, string>>): Promise<DurablePage>;
  get(id: string, waitS?: number): Promise<DurableCall>;
  decide(id: string, decision: Decision): Promise<DurableCall>;
  signal(id: string, name: string, payload: JsonValue): Promise<Pick<DurableCall, "id" | "state">>;
  cancel(id: string, reason: string | undefined): Promise<Pick<DurableCall, "id" | "state">>;
  /** `again`: retries failed ones. */
  undo(id: string, again: boolean): Promise<UndoReport>;
}

export const SERVER = "http://127.0.0.1:8080";
const ASK_MS = 15_000;
/** Time to wait for the report of an undo, in seconds. */
const UNDO_S = WAIT_MAX_MS / 1_000;
const MISSING = "call of this id";

/** Opens the file of `--file`, or the server of `--url`. `does`: calls of a file continue only after an action. */
export async function openPlace(options: PlaceOptions, does: "act" | "read" = "act"): Promise<DurablePlace> {
  const { file, url, tools, config } = options;
  if (file !== undefined) {
    if (url !== undefined) throw new CliError(EXIT.USAGE, "--file is a store without a server: name it, or --url");
    return openFile(file, options, does === "act");
  }
  if (tools !== undefined || config !== undefined)
    throw new CliError(EXIT.USAGE, "--tools and --config go with --file: a server has its own");
  return atServer(options);
}

function atServer({ url = SERVER, keyEnv }: PlaceOptions): DurablePlace {
  const server = remoteServer(url, keyEnv);
  const send = async (path: string, role: string, body?: unknown, waitS = 0): Promise<unknown> => {
    const response = await ask(server, {
      path: `v1/calls${path}`,
      accept: "application/json",
      role,
      missing: MISSING,
      isForbiddenExplained: true,
      signal: AbortSignal.timeout(ASK_MS + waitS * 1_000),
      ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
    });
    return readJson(response);
  };
  const at = (id: string, rest = ""): string => `/${encodeURIComponent(id)}${rest}`;
  return {
    isHere: false,
    list: async (filter) => (await send(`?${new URLSearchParams(filter).toString()}`, "approve")) as DurablePage,
    get: async (id, waitS = 0) => {
      const found = (await send(at(id, `?wait=${waitS}`), "approve", undefined, waitS)) as DurableCall;
      if (!("waits" in found)) throw new CliError(EXIT.FAILED, "the call of this id has never waited");
      return found;
    },
    decide: async (id, decision) => (await send(at(id, "/decisions"), "approve", decision)) as DurableCall,
    signal: async (id, name, payload) =>
      (await send(at(id, `/signals/${encodeURIComponent(name)}`), "execute", payload)) as DurableCall,
    cancel: async (id, reason) =>
      (await send(at(id, "/cancel"), "execute", reason === undefined ? {} : { reason })) as DurableCall,
    undo: async (id, again) => (await send(at(id, `/undo?again=${again}`), "execute", {}, UNDO_S)) as UndoReport,
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

async function openFile(file: string, { tools, config }: PlaceOptions, resume: boolean): Promise<DurablePlace> {
  if (!existsSync(file)) throw new CliError(EXIT.USAGE, `there is no file ${file}`);
  const values = await readConfig(config);
  const { calls: kept, ...others } = values;
  const { keep, url, secret } = kept ?? {};
  const engine = await openEngine({ tools }, others, {
    workers: 1,
    executor: { kind: "process", spare: false },
    calls: {
      path: file,
      resume,
      ...(keep === undefined || keep === "nothing" ? {} : { keep }),
      // The secret of Redis is not that of the file.
      ...(secret === undefined || url !== undefined ? {} : { secret }),
    },
  });
  const { durable } = engine.calls;
  const there = async <Call>(work: Promise<Call | undefined>): Promise<Call> => {
    const found = await orFailed(work);
    if (found === undefined) throw new CliError(EXIT.FAILED, `${file} has no ${MISSING}`);
    return found;
  };
  return {
    isHere: true,
    list: ({ limit, stale, ...filter }) => {
      const count = limit === undefined ? {} : { limit: Number(limit) };
      return orFailed(
        durable.list({ ...filter, ...count, ...(stale === undefined ? {} : { stale: stale === "true" }) }),
      );
    },
    get: async (id, waitS = 0) => {
      if (waitS > 0) await there<ToolResult>(durable.result(id, {}, { waitMs: waitS * 1_000 }));
      return there(durable.get(id));
    },
    decide: (id, decision) => there(durable.decide(id, decision)),
    signal: (id, name, payload) => there(durable.signal(id, name, payload)),
    cancel: (id, reason) => there(durable.cancel(id, reason)),
    undo: (id, again) => there(durable.undo(id, undefined, { again })),
    [Symbol.asyncDispose]: () => engine.close(),
  };
}

async function orFailed<Value>(work: Promise<Value>): Promise<Value> {
  try {
    return await orUsage(work);
  } catch (error) {
    const isTold = error instanceof StoreError || error instanceof GloveboxError || isConflict(error);
    throw isTold ? new CliError(EXIT.FAILED, error.message) : error;
  }
}

/** By its name: the engine is loaded only to open it. */
function isConflict(error: unknown): error is Error {
  return error instanceof Error && error.name === "DecisionConflict";
}
