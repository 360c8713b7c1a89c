import { exactly, text } from "./schema-parts.ts";

export const INDEX = { type: "integer", minimum: 0, description: "Index of the call in its batch, from 0." };

/** Schemas of the events of a running call, by their names in the OpenAPI document. */
export const EVENT_SCHEMAS = {
  LogEvent: exactly({ level: { type: "string" }, message: { type: "string" }, index: INDEX }, ["index"]),
  ProgressEvent: exactly(
    { progress: { type: "number" }, total: { type: "number" }, message: { type: "string" }, index: INDEX },
    ["total", "message", "index"],
  ),
  CapabilityEvent: exactly(
    {
      capability: text("The requested capability."),
      method: text("The capability's method."),
      outcome: { enum: ["ok", "denied", "failed", "limit", "replayed", "diverged"] },
      durationMs: { type: "number" },
      step: { type: "integer", description: "Number of the request within the call, from 1." },
      index: INDEX,
    },
    ["index"],
  ),
  PausedEvent: exactly(
    { id: text("Id of the call, by which it is kept."), message: text("What it waits for."), index: INDEX },
    ["index"],
  ),
  DroppedEvent: exactly({ events: { type: "integer", minimum: 1 } }),
};
