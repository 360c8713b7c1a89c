import { json, type RouteDescription } from "./route-description.ts";
import { SCHEMAS } from "./schemas.ts";

export const GET_METRICS: RouteDescription = {
  id: "getMetrics",
  tag: "watching",
  summary: "Metrics for Prometheus.",
  description: "With `Accept: application/openmetrics-text`: in the format of OpenMetrics 1.0, with exemplars.",
  answers: {
    200: {
      description: "Prometheus' text format, or that of OpenMetrics.",
      content: {
        "text/plain": { schema: { type: "string" } },
        "application/openmetrics-text": { schema: { type: "string" } },
      },
    },
  },
};

export const GET_STATS: RouteDescription = {
  id: "getStats",
  tag: "watching",
  summary: "Returns a snapshot of the server; rates and quantiles are of the last second.",
  description: "With `Accept: text/event-stream`: a stream with one snapshot per second.",
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

export const GET_RESOURCE_METADATA: RouteDescription = {
  id: "getResourceMetadata",
  tag: "watching",
  summary: "Names the authorization server whose tokens the server accepts (RFC 9728).",
  answers: { 200: json("The metadata.", { type: "object", required: ["resource", "authorization_servers"] }) },
};

export const GET_HEALTH: RouteDescription = {
  id: "getHealth",
  tag: "watching",
  summary: "Liveness probe.",
  answers: { 200: json("The server is alive.", SCHEMAS.Alive, { status: "alive" }) },
};

const READY = { status: "ready", executor: { kind: "process", ready: true, sandbox: "bubblewrap" } };

export const GET_READINESS: RouteDescription = {
  id: "getReadiness",
  tag: "watching",
  summary: "Readiness probe.",
  answers: {
    200: json("The server accepts calls.", SCHEMAS.Readiness, READY),
    503: json("The executor is not ready, or the server is stopping.", SCHEMAS.Readiness),
  },
};

export const GET_OPENAPI: RouteDescription = {
  id: "getOpenApi",
  tag: "watching",
  summary: "The OpenAPI description of this API.",
  answers: { 200: json("OpenAPI 3.1.", { type: "object" }) },
};
