import type { FastifyInstance } from "fastify";
import { sendJson, sendRefusal } from "./answers.ts";
import { GET_STATS } from "./api/watch-routes.ts";
import { callerOf, type Surface, refuseOthers } from "./surface.ts";
import { EVENT_STREAM } from "./event-stream.ts";
import { chooseType } from "./media-type.ts";
import { Sampler, type StatsSnapshot } from "./sampler.ts";
import { StatsStreams } from "./stats-streams.ts";

export type { StatsSnapshot } from "./sampler.ts";

const TYPES = ["application/json", EVENT_STREAM] as const;
/** Streams, and so many again of those who wait for one snapshot. */
const CLIENTS_MAX = 1_000;

/** Adds the route for those who look on: one snapshot, or one each second. */
export function addStats(app: FastifyInstance, { engine, gate, isDraining, onDrain }: Surface): void {
  const connections = (): Promise<number> =>
    new Promise((resolve) => app.server.getConnections((error, count) => resolve(error === null ? count : 0)));
  const sampler = new Sampler(engine, { connections, streams: () => streams.size, isDraining });
  const streams = new StatsStreams(sampler);

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
