import type { FastifyInstance } from "fastify";
import { Counter, Gauge, Registry } from "prom-client";
import { registerTallies, Tally } from "../../tally.ts";

const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
/** The route of requests for which there is none: what a client made up is no label. */
const NO_ROUTE = "other";

/** What the answers on one route have come to. Counts wait here for the next scrape. */
interface RouteTally {
  readonly statuses: Map<number, number>;
  readonly duration: Tally;
}

/** Counts what an app answers, by the routes that it has. */
export class HttpMetrics {
  readonly #registry = new Registry();
  readonly #routes = new Map<string, RouteTally>();

  constructor(app: FastifyInstance) {
    app.addHook("onResponse", ({ is404, routeOptions }, { statusCode, elapsedTime }, next) => {
      const tally = this.#of(is404 ? NO_ROUTE : (routeOptions.url ?? NO_ROUTE));
      tally.statuses.set(statusCode, (tally.statuses.get(statusCode) ?? 0) + 1);
      tally.duration.observe(elapsedTime / 1e3);
      next();
    });
    this.#register(app);
  }

  /** Prometheus text. */
  text(): Promise<string> {
    return this.#registry.metrics();
  }

  #of(route: string): RouteTally {
    let tally = this.#routes.get(route);
    if (tally === undefined) {
      tally = { statuses: new Map(), duration: new Tally(SECONDS) };
      this.#routes.set(route, tally);
    }
    return tally;
  }

  #register(app: FastifyInstance): void {
    const registers = [this.#registry];
    const routes = this.#routes;
    new Counter({
      name: "glovebox_http_requests_total",
      help: "Requests by route and the status of their answers.",
      labelNames: ["route", "status"],
      registers,
      collect() {
        for (const [route, { statuses }] of routes) {
          for (const [status, count] of statuses) this.inc({ route, status }, count);
          statuses.clear();
        }
      },
    });
    const duration = {
      name: "glovebox_http_request_duration_seconds",
      help: "Time from a request to its answer's end.",
    };
    registerTallies(this.#registry, duration, () => [...routes].map(([route, tally]) => [{ route }, tally.duration]));
    new Gauge({
      name: "glovebox_http_connections",
      help: "Connections that are open.",
      registers,
      async collect() {
        this.set(
          await new Promise<number>((resolve) => app.server.getConnections((_error, count) => resolve(count ?? 0))),
        );
      },
    });
  }
}
