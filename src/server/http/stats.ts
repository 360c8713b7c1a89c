import type { FastifyInstance, FastifyReply } from "fastify";
import { EVENT_STREAM } from "./event-stream.ts";
import { Sampler, type StatsSnapshot } from "./stats-sampler.ts";
import { sendJson, sendRefusal } from "./answers.ts";
import { GET_STATS } from "./api/watch-routes.ts";
import { callerOf, refuseOthers, type Surface } from "./surface.ts";
import { chooseType } from "./media-type.ts";

export type { StatsSnapshot } from "./stats-sampler.ts";

const TYPES = ["application/json", EVENT_STREAM] as const;
/** Maximum number of streams, and again of requests that wait for one snapshot. */
const CLIENTS_MAX = 1_000;

/** Adds the statistics route: one snapshot, or a stream with one each second. */
export function addStats(app: FastifyInstance, { engine, gate, isDraining, onDrain }: Surface): void {
  const connections = (): Promise<number> =>
    new Promise((resolve) => app.server.getConnections((error, count) => resolve(error === null ? count : 0)));
  const sampler = new Sampler(engine, { connections, streams: () => streams.size, isDraining });
  const streams: StatsStreams = new StatsStreams(sampler);

  app.get("/v1/stats", { config: { role: "metrics", api: GET_STATS } }, async (request, reply) => {
    const type = chooseType(request.headers.accept, TYPES) ?? "application/json";
    const isStream = type === EVENT_STREAM && request.method === "GET";
    if ((isStream ? streams.size : sampler.watchers) >= CLIENTS_MAX) {
      return sendRefusal(reply, "rate_limited", `${CLIENTS_MAX} clients watch already: there is no room for more`);
    }
    if (isStream) {
      const caller = callerOf(request);
      streams.add(reply, () => gate.stillAdmits(caller, "metrics"));
      return reply;
    }
    return sendJson(reply.header("cache-control", "no-store"), 200, await nextSnapshot(sampler));
  });
  refuseOthers(app, "/v1/stats", ["GET", "HEAD"]);

  onDrain(() => streams.end());
}

function nextSnapshot(sampler: Sampler): Promise<StatsSnapshot> {
  return new Promise((resolve) => {
    const watcher = (snapshot: StatsSnapshot): void => {
      sampler.remove(watcher);
      resolve(snapshot);
    };
    sampler.add(watcher);
  });
}

/** Maximum unread data of a stream, besides the system's buffers; a slower client is disconnected. */
const UNREAD_MAX_BYTES = 128 * 1024;
const HEADERS = {
  "content-type": EVENT_STREAM,
  "cache-control": "no-store",
  "x-accel-buffering": "no",
  "x-content-type-options": "nosniff",
};

type Response = FastifyReply["raw"];

/** Streams of snapshots: all clients share the bytes of an event, and slow ones are disconnected. */
export class StatsStreams {
  readonly #sampler: Pick<Sampler, "add" | "remove">;
  /** Open responses, each with a check that its key is still valid. */
  readonly #responses = new Map<Response, () => boolean>();
  #isEnding = false;

  constructor(sampler: Pick<Sampler, "add" | "remove">) {
    this.#sampler = sampler;
  }

  get size(): number {
    return this.#responses.size;
  }

  add(reply: FastifyReply, mayGoOn: () => boolean): void {
    const { raw } = reply.hijack();
    if (raw.destroyed) return;
    raw.once("close", () => this.#remove(raw));
    raw.on("error", () => raw.destroy());
    raw.writeHead(200, { ...(reply.getHeaders() as Record<string, string>), ...HEADERS });
    // The request was on its way when the server began to stop.
    if (this.#isEnding) return void raw.end();
    raw.flushHeaders();
    this.#responses.set(raw, mayGoOn);
    if (this.#responses.size === 1) this.#sampler.add(this.#tell);
  }

  /** Ends all streams: they have no end of their own, and a closing server waits for all responses. */
  end(): void {
    this.#isEnding = true;
    for (const raw of this.#responses.keys()) raw.end();
  }

  #remove(raw: Response): void {
    this.#responses.delete(raw);
    if (this.#responses.size === 0) this.#sampler.remove(this.#tell);
  }

  readonly #tell = (snapshot: StatsSnapshot): void => {
    const event = Buffer.from(`data: ${JSON.stringify(snapshot)}\n\n`);
    for (const [raw, mayGoOn] of this.#responses) {
      if (!mayGoOn()) raw.end();
      else if (raw.writableLength > UNREAD_MAX_BYTES) raw.destroy();
      else raw.write(event);
    }
  };
}
