import { createRequire } from "node:module";
import type * as Api from "@opentelemetry/api";

/** The global symbol under which OpenTelemetry's API stores its registrations. */
const REGISTERED = Symbol.for("opentelemetry.js.api.1");
const require = createRequire(import.meta.url);
let api: typeof Api | null = null;

/** OpenTelemetry's API, loaded once something has been registered with it in this process; `null` until then. */
export function openTelemetry(): typeof Api | null {
  if (api === null && Reflect.has(globalThis, REGISTERED)) api = require("@opentelemetry/api") as typeof Api;
  return api;
}
