import type { ToolDefinition } from "../../../src/glovebox/index.ts";

/** A picture of one red pixel. */
const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";
/** A sound without a sample. */
const WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA=";

/** A module that returns a constant. */
function returns(value: unknown): string {
  return `export default () => (${JSON.stringify(value)});`;
}

const PAUSE = "const pause = () => new Promise((resolve) => setTimeout(resolve, 60));";

/** The tool whose calls change the list of tools; the server of the test does that. */
export const CHANGES_TOOLS = "test_trigger_tool_change";

/** The tools for which the suite asks, with the names and the answers that it wants of them. */
export const TOOLS: readonly ToolDefinition[] = [
  {
    name: "test_simple_text",
    description: "Returns a text.",
    source: returns("This is a simple text response for testing."),
  },
  {
    name: "test_image_content",
    description: "Returns an image.",
    source: returns({ content: [{ type: "image", data: PNG, mimeType: "image/png" }] }),
  },
  {
    name: "test_audio_content",
    description: "Returns audio.",
    source: returns({ content: [{ type: "audio", data: WAV, mimeType: "audio/wav" }] }),
  },
  {
    name: "test_embedded_resource",
    description: "Returns a resource.",
    source: returns({
      content: [
        {
          type: "resource",
          resource: {
            uri: "test://embedded-resource",
            mimeType: "text/plain",
            text: "This is an embedded resource content.",
          },
        },
      ],
    }),
  },
  {
    name: "test_multiple_content_types",
    description: "Returns blocks of several types.",
    source: returns({
      content: [
        { type: "text", text: "Multiple content types test:" },
        { type: "image", data: PNG, mimeType: "image/png" },
        {
          type: "resource",
          resource: {
            uri: "test://mixed-content-resource",
            mimeType: "application/json",
            text: JSON.stringify({ test: "data", value: 123 }),
          },
        },
      ],
    }),
  },
  {
    name: "test_tool_with_logging",
    description: "Writes three log lines.",
    source: `${PAUSE}
export default async () => {
  console.info("Tool execution started");
  await pause();
  console.info("Tool processing data");
  await pause();
  console.info("Tool execution completed");
  return "done";
};`,
  },
  {
    name: "test_tool_with_progress",
    description: "Reports progress.",
    source: `${PAUSE}
export default async (_input, { progress }) => {
  for (const step of [0, 50, 100]) {
    progress(step, 100);
    await pause();
  }
  return "done";
};`,
  },
  {
    name: "test_error_handling",
    description: "Fails.",
    source: `export default () => { throw new Error("This tool intentionally returns an error for testing"); };`,
  },
  {
    name: "test_reconnection",
    description: "Takes a while.",
    source: `${PAUSE}\nexport default async () => { await pause(); return "Reconnection test completed"; };`,
  },
  {
    name: "test_logging_tool",
    description: "Writes a log line.",
    source: `export default () => { console.info("a line"); return "done"; };`,
  },
  {
    name: "test_streaming_elicitation",
    description: "Reports progress. It asks for nothing, because tools cannot.",
    source: `export default (_input, { progress }) => { progress(1, 1); return "done"; };`,
  },
  { name: CHANGES_TOOLS, description: "Has the server register another tool.", source: returns("done") },
  {
    name: "test_header",
    description: "Has an argument that clients repeat in a header.",
    source: "export default ({ region }) => region;",
    inputSchema: {
      type: "object",
      properties: { region: { type: "string", "x-mcp-header": "Region" } },
      required: ["region"],
    },
  },
  {
    name: "json_schema_2020_12_tool",
    description: "Has a schema with the keywords of JSON Schema 2020-12.",
    source: returns("done"),
    inputSchema: {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "object",
      $defs: {
        address: {
          $anchor: "addressDef",
          type: "object",
          properties: { street: { type: "string" }, city: { type: "string" } },
        },
      },
      properties: {
        name: { type: "string" },
        address: { $ref: "#/$defs/address" },
        contactMethod: { type: "string", enum: ["phone", "email"] },
        phone: { type: "string" },
        email: { type: "string" },
      },
      allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
      if: { properties: { contactMethod: { const: "phone" } }, required: ["contactMethod"] },
      then: { required: ["phone"] },
      else: { required: ["email"] },
      additionalProperties: false,
    },
  },
  {
    name: "takes_booleans",
    description: "Has boolean schemas, which older clients refuse.",
    source: returns({ value: 1 }),
    inputSchema: { type: "object", properties: { anything: true } },
    outputSchema: { type: "object", properties: { value: true, nothing: false }, required: ["value"] },
  },
];
