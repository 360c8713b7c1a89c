import { json, type RouteDescription } from "./route-description.ts";
import { SCHEMAS } from "./schemas.ts";

export const GET_METRICS: RouteDescription = {
  id: "getMetrics",
  tag: "watching",
  summary: "Metrics for Prometheus.",
  answers: {
    200: { description: "Prometheus' text format.", content: { "text/plain": { schema: { type: "string" } } } },
  },
};

export const GET_STATS: RouteDescription = {
  id: "getStats",
  tag: "watching",
  summary: "Tells what the server is doing: rates and quantiles are those of the last second.",
  description: "With `Accept: text/event-stream` there is one snapshot each second, until the client goes away.",
  answers: {
    200: {
      description: "A snapshot, or a stream of them.",
      content: {
        "application/json": { schema: SCHEMAS.Stats },
        "text/event-stream": { schema: { type: "string" } },
      },
    },
  },
  events: { stats: SCHEMAS.Stats },
};

export const GET_HEALTH: RouteDescription = {
  id: "getHealth",
  tag: "watching",
  summary: "Tells that the server lives.",
  answers: { 200: json("It lives.", SCHEMAS.Alive, { status: "alive" }) },
};

const READY = { status: "ready", executor: { kind: "process", ready: true, sandbox: "bubblewrap" } };

export const GET_READINESS: RouteDescription = {
  id: "getReadiness",
  tag: "watching",
  summary: "Tells whether the server takes calls.",
  answers: {
    200: json("It does.", SCHEMAS.Readiness, READY),
    503: json("Its executor is not there yet, or it is about to stop.", SCHEMAS.Readiness),
  },
};

export const GET_OPENAPI: RouteDescription = {
  id: "getOpenApi",
  tag: "watching",
  summary: "This description.",
  answers: { 200: json("OpenAPI 3.1.", { type: "object" }) },
};
