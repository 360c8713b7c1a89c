import { createRequire } from "node:module";
import type * as Api from "@opentelemetry/api";

/** Where OpenTelemetry's API keeps what is registered with it. */
const REGISTERED = Symbol.for("opentelemetry.js.api.1");
const require = createRequire(import.meta.url);
let api: typeof Api | null = null;

/** OpenTelemetry's API, loaded once this process has registered something with it; `null` until then. */
export function openTelemetry(): typeof Api | null {
  if (api === null && Reflect.has(globalThis, REGISTERED)) api = require("@opentelemetry/api") as typeof Api;
  return api;
}
