import type { ServerResponse } from "node:http";
import type { FastifyInstance } from "fastify";
import { Counter, Gauge, type Registry } from "prom-client";
import { registerTallies, Tally } from "../../kernel/base/tally.ts";

declare module "fastify" {
  interface FastifyInstance {
    /** Request metrics; missing if they are not collected. */
    traffic?: Traffic;
  }
  interface FastifyContextConfig {
    meter?: RouteMeter;
  }
}

const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
/**
 * Label of unknown addresses and unreadable requests. Addresses themselves are no labels: clients could create any
 * number.
 */
const NOWHERE = "other";
/** Status of requests whose client disconnected before the response was complete. */
const GONE = 499;

/** Servers that share a registry share their metrics. */
const known = new WeakMap<Registry, Traffic>();

/** Request metrics of one route. Counts are kept here until the next scrape. */
class RouteMeter {
  readonly duration = new Tally(SECONDS);
  readonly #counts = new Map<string, Map<number, number>>();

  count(method: string, status: number): void {
    let statuses = this.#counts.get(method);
    if (statuses === undefined) this.#counts.set(method, (statuses = new Map()));
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
  }

  /** Yields the counts since the last call and resets them. */
  *take(): Generator<readonly [method: string, status: number, count: number]> {
    for (const [method, statuses] of this.#counts) {
      for (const [status, count] of statuses) if (count > 0) yield [method, status, count];
      statuses.clear();
    }
  }
}

/** Prometheus metrics of an engine's servers. */
export class Traffic {
  connections = 0;
  streams = 0;
  readonly #routes = new Map<string, RouteMeter>();

  /** The instance that reports to a registry. */
  static of(registry: Registry): Traffic {
    let traffic = known.get(registry);
    if (traffic === undefined) known.set(registry, (traffic = new Traffic(registry)));
    return traffic;
  }

  private constructor(registry: Registry) {
    const registers = [registry];
    const requests = new Counter({
      name: "glovebox_http_requests_total",
      help: "Requests by route, method and status; 499 where the client went away.",
      labelNames: ["route", "method", "status"],
      registers,
      collect: () => {
        for (const [route, meter] of this.#routes) {
          for (const [method, status, count] of meter.take()) requests.inc({ route, method, status }, count);
        }
      },
    });
    const duration = {
      name: "glovebox_http_request_duration_seconds",
      help: "Time from a request's head to its answer's end.",
    };
    registerTallies(registry, duration, () => [...this.#routes].map(([route, meter]) => [{ route }, meter.duration]));
    const gauge = (name: string, help: string, read: () => number) =>
      new Gauge({
        name: `glovebox_http_${name}`,
        help,
        registers,
        collect() {
          this.set(read());
        },
      });
    gauge("connections", "Connections that are open.", () => this.connections);
    gauge("streams", "Answers under way that are streams of events.", () => this.streams);
  }

  /** Meter of a route, by the router's URL pattern. */
  route(url: string): RouteMeter {
    let meter = this.#routes.get(url);
    if (meter === undefined) this.#routes.set(url, (meter = new RouteMeter()));
    return meter;
  }

  /** Counts a request that reached no route; an unreadable one has an empty method. */
  countNowhere(method: string, status: number): void {
    this.route(NOWHERE).count(method, status);
  }
}

/** Counts the requests of an app's routes; only of routes added afterwards. */
export function addTraffic(app: FastifyInstance, traffic: Traffic): void {
  app.decorate("traffic", traffic);
  app.addHook("onRoute", (route) => {
    route.config = { ...route.config, meter: traffic.route(route.url) };
  });
  const nowhere = traffic.route(NOWHERE);
  app.addHook("onRequest", (request, reply, next) => {
    measure(request.routeOptions.config.meter ?? nowhere, request.method, reply.raw);
    next();
  });
}

/** Counts a request when its response is complete, or its client has disconnected. */
export function measure(meter: RouteMeter, method: string, response: ServerResponse): void {
  const startMs = performance.now();
  response.on("close", () => {
    meter.count(method, response.writableFinished ? response.statusCode : GONE);
    meter.duration.observe((performance.now() - startMs) / 1e3);
  });
}
