import type { McpCall, RemoteRequest } from "../../kernel/guest/host.ts";
import type { JsonSchema } from "../../kernel/base/json.ts";
import type { ModuleCapability } from "../../kernel/broker/capabilities/module-capability.ts";
import { nameGrants } from "../../kernel/broker/capabilities/names.ts";

const NAME: JsonSchema = { type: "string", minLength: 1, maxLength: 128 };
const CALL: JsonSchema = {
  type: "object",
  properties: {
    connector: NAME,
    tool: { type: "string", maxLength: 1_000 },
    isRead: { type: "boolean" },
    arguments: { type: "string" },
  },
  required: ["connector", "tool", "isRead", "arguments"],
};
const REQUEST: JsonSchema = {
  type: "object",
  properties: {
    connector: NAME,
    method: { type: "string", maxLength: 32 },
    target: { type: "string", maxLength: 16_384 },
    headers: {
      type: "array",
      maxItems: 200,
      items: { type: "array", minItems: 2, maxItems: 2, items: { type: "string" } },
    },
    body: {
      type: ["string", "object", "null"],
      properties: { base64: { type: "string" } },
      required: ["base64"],
      additionalProperties: false,
    },
  },
  required: ["connector", "method", "target", "headers", "body"],
};
/** Length of a request as JSON, in UTF-16 units. */
const INPUT_MAX = 8 * 1024 * 1024;
/** Methods without effects on a server. */
export const READING: ReadonlySet<string> = new Set(["GET", "HEAD", "QUERY"]);

/** `connector`: executes the operation of a connector's tool at its server. Only such a tool can use it. */
export const CONNECTOR: ModuleCapability<readonly string[]> = {
  name: "connector",
  grants: nameGrants,
  methods: {
    request: {
      input: REQUEST,
      inputBytes: INPUT_MAX,
      isRead: (args) => READING.has((args as RemoteRequest).method),
    },
    call: { input: CALL, inputBytes: INPUT_MAX, isRead: (args) => (args as McpCall).isRead },
  },
  module: new URL(`./connector.${import.meta.url.endsWith(".ts") ? "ts" : "js"}`, import.meta.url),
};
