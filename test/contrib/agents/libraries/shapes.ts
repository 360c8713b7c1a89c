/** Modules with objects in the shapes of libraries, which need none of these to be installed. */

/** The AI SDK's `tool()` gives back what it is given. */
export const AI_SDK = `
const schema = (properties, required = Object.keys(properties)) => ({
  [Symbol.for("vercel.ai.schema")]: true,
  get jsonSchema() { return { type: "object", properties, required }; },
  validate: undefined,
});
export const weather = {
  description: "The weather at a place.",
  inputSchema: schema({ location: { type: "string" } }),
  execute: async ({ location }, { toolCallId, messages, abortSignal }) =>
    ({ location, temperature: 21, has: [typeof toolCallId, messages.length, abortSignal.aborted] }),
};
export const steps = {
  description: "Counts in steps.",
  inputSchema: schema({ to: { type: "integer" } }),
  async *execute({ to }) { for (let at = 1; at <= to; at++) yield { at }; },
};
export const chart = {
  description: "Draws a chart.",
  inputSchema: () => schema({}),
  execute: () => ({ png: "iVBORw0KGgo=", points: [1, 2] }),
  toModelOutput: ({ output, toolCallId }) => ({ type: "content", value: [
    { type: "text", text: "a chart of " + output.points.length + " points, " + typeof toolCallId },
    { type: "image-data", data: output.png, mediaType: "image/png" },
  ] }),
};
/** Version 7 has one form for all files. */
export const files = {
  description: "Files.",
  inputSchema: schema({}),
  execute: () => "three",
  toModelOutput: () => ({ type: "content", value: [
    { type: "file", data: { type: "data", data: new Uint8Array([1, 2, 3]) }, mediaType: "image/png" },
    { type: "file", data: { type: "data", data: "AQID" }, mediaType: "application/pdf", filename: "a b.pdf" },
    { type: "file", data: { type: "text", text: "hello" }, mediaType: "text/plain" },
    { type: "file", data: { type: "url", url: new URL("https://example.com/a.png") }, mediaType: "image" },
    { type: "file", data: { type: "reference", reference: { openai: "file-1" } }, mediaType: "image/png" },
  ] }),
};
/** Version 5 gives the output itself. */
const older = (toModelOutput) => ({ description: "Notes.", inputSchema: schema({}), execute: () => ({ text: "kept" }), toModelOutput });
export const notes = {
  note_arrow: older((result) => ({ type: "text", value: result.text })),
  note_bare: older(result => ({ type: "text", value: result.text })),
  note_method: older({ toModelOutput(result) { return { type: "text", value: result.text }; } }.toModelOutput),
  note_newer: older(function (options) { return { type: "json", value: [options.output.text] }; }),
  note_async: older(async ({ output }) => ({ type: "text", value: output.text })),
};
`;

/** Every function tool of OpenAI Agents has \`needsApproval\`, and gets its arguments as text. */
export const OPENAI_AGENTS = `
const made = (name, execute, more = {}) => ({
  type: "function", name, description: "Does " + name + ".", strict: true,
  parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"], additionalProperties: false },
  needsApproval: async () => false, isEnabled: async () => true, inputGuardrails: [], outputGuardrails: [],
  invoke: async (run, text, details) => execute(JSON.parse(text), run, details),
  ...more,
});
export const tools = [
  made("get_weather", ({ city }) => "sunny in " + city),
  made("who", (input, run, details) => [run.context.user, details.toolCall.name]),
  made("used", (input, run) => run.usage.totalTokens),
  made("asks", () => "never", { needsApproval: async (run, { city } = {}) => city === "Berlin" }),
];
`;

export const LANGCHAIN = `
class StructuredTool {
  lc_runnable = true; responseFormat = "content";
  constructor(fields) { Object.assign(this, fields); }
  get lc_namespace() { return ["langchain", "tools"]; }
  async invoke(input, config) {
    const isCall = input.type === "tool_call";
    const result = await this._call(isCall ? input.args : input, undefined, config);
    if (this.responseFormat !== "content_and_artifact") return result;
    const [content, artifact] = result;
    return isCall ? { lc_direct_tool_output: true, tool_call_id: input.id, content, artifact } : content;
  }
  _call(input, manager, config) { return this.func(input, config); }
}
const schema = { type: "object", properties: { a: { type: "number" }, b: { type: "number" } }, required: ["a", "b"] };
export const multiply = new StructuredTool({ name: "multiply", description: "Multiplies.", schema, func: ({ a, b }) => a * b });
export const range = new StructuredTool({
  name: "range", description: "Numbers.", schema, responseFormat: "content_and_artifact",
  func: ({ a, b }) => ["numbers from " + a + " to " + b, Array.from({ length: b - a + 1 }, (_, at) => a + at)],
});
export const remembers = new StructuredTool({
  name: "remembers", description: "Reads a store.", schema, func: (input, config) => config.store.get("x"),
});
`;

const VALIDATES = `
const standard = (check, json) => ({ "~standard": { version: 1, vendor: "own", validate: check,
  jsonSchema: { input: () => json, output: () => json } } });
const place = standard(
  (value) => typeof value?.location === "string" && value.location !== "nowhere"
    ? { value: { location: value.location.toUpperCase() } } : { issues: [{ message: "is nowhere", path: ["location"] }] },
  { type: "object", properties: { location: { type: "string" } } },
);
`;

/** The newer form has a symbol, and takes the arguments first. */
export const MASTRA = `${VALIDATES}
const parse = (value) => place["~standard"].validate(value);
class Tool {
  constructor(fields, older) {
    Object.assign(this, { mastra: undefined, requireApproval: false, suspendSchema: undefined, ...fields });
    if (!older) this[Symbol.for("mastra.core.tool.Tool")] = true;
    const refuse = (issues) => ({ error: true, message: "Tool input validation failed for " + this.id, validationErrors: issues });
    this.execute = async (first, second) => {
      const { issues, value } = parse(older ? first.context : first);
      if (issues) return refuse(issues);
      return older ? fields.execute({ ...first, context: value }, second) : fields.execute(value, second);
    };
  }
}
export const newer = new Tool({
  id: "get-weather", description: "The weather.", inputSchema: place,
  execute: async ({ location }, { requestContext, agent, toolCallId }) => location + requestContext.get("unit") + typeof toolCallId,
});
export const older = new Tool({
  id: "old-weather", description: "The weather.", inputSchema: place,
  execute: async ({ context, runtimeContext }, { toolCallId }) => context.location + runtimeContext.get("unit") + typeof toolCallId,
}, true);
export const agent = new Tool({
  id: "asks-agent", description: "Asks an agent.", inputSchema: place,
  execute: async (input, { mastra }) => { mastra.getLogger()?.info("asking"); return mastra.getAgent("x"); },
});
`;

export const PLAIN = `${VALIDATES}
export default {
  shout: { name: "shout", description: "Shouts.", inputSchema: place, execute: ({ location }, context) => [location, typeof context.host] },
  add: {
    name: "add", description: "Adds.",
    parameters: { type: "object", properties: { a: { type: "number" }, b: { type: "number" } }, required: ["a", "b"] },
    execute: ({ a, b }) => a + b,
  },
};
`;

/** A server that is not connected: its client sends messages, and it answers them. */
export const MCP = `
class Server {
  constructor(tools) { this.tools = tools; }
  setRequestHandler() {}
  async close() {}
  async connect(transport) {
    if (this.transport) throw new Error("already connected");
    this.transport = transport;
    transport.onmessage = ({ id, method, params }) => {
      if (id === undefined) return;
      const answer = (result) => transport.send({ jsonrpc: "2.0", id, result });
      if (method === "initialize") return answer({ protocolVersion: params.protocolVersion, capabilities: { tools: {} } });
      if (method === "tools/list") return answer({ tools: Object.keys(this.tools).map((name) => ({ name, inputSchema: { type: "object" } })) });
      const tool = this.tools[params.name];
      if (!tool) return transport.send({ jsonrpc: "2.0", id, error: { code: -32602, message: "no such tool" } });
      const note = (method, params) => transport.send({ jsonrpc: "2.0", method, params });
      note("notifications/progress", { progressToken: params._meta.progressToken, progress: 1, total: 2, message: "half" });
      note("notifications/message", { level: "info", data: "called " + params.name });
      tool(params.arguments).then(answer);
    };
  }
}
let count = 0;
export const first = new Server({ hello: async ({ name }) => ({ content: [{ type: "text", text: "hello " + name }] }) });
export const second = new Server({
  data: async () => ({ content: [], structuredContent: { count: ++count } }),
  fails: async () => ({ content: [{ type: "text", text: "no luck" }], isError: true }),
  blocks: async () => ({ content: [{ type: "text", text: "a" }, { type: "image", data: "iVBORw0KGgo=", mimeType: "image/png" }] }),
});
`;

/** Tools of each library that ask for approvals: of all calls, and of those with large amounts. */
export const APPROVALS = `
const schema = { type: "object", properties: { amount: { type: "integer" } }, required: ["amount"] };
const pay = ({ amount }) => { console.log("paid", amount); return amount; };
const isLarge = ({ amount }) => amount > 100;
const plain = (name, needsApproval) => ({ name, description: "Pays.", parameters: schema, needsApproval, execute: pay });
const ai = (needsApproval) => ({ description: "Pays.", inputSchema: schema, needsApproval, execute: pay });
const agents = (name, needsApproval) => ({
  type: "function", name, description: "Pays.", strict: true, parameters: schema, inputGuardrails: [], outputGuardrails: [],
  needsApproval, invoke: async (run, text) => pay(JSON.parse(text)),
});
const mastra = (id, more) => ({ id, description: "Pays.", inputSchema: schema, mastra: undefined, requestContextSchema: undefined,
  execute: async (input) => pay(input), ...more });
export const tools = {
  ai_always: ai(true),
  ai_some: ai(async (input, { toolCallId, messages }) => isLarge(input) && typeof toolCallId === "string" && messages.length === 0),
  agents_always: agents("agents_always", async () => true),
  agents_some: agents("agents_some", async (run, input, callId) => isLarge(input) && typeof callId === "string"),
  mastra_always: mastra("mastra_always", { requireApproval: true }),
  mastra_some: mastra("mastra_some", { requireApproval: true, needsApprovalFn: (input, { requestContext }) => isLarge(input) && requestContext !== undefined }),
  plain_always: plain("plain_always", true),
  plain_some: plain("plain_some", isLarge),
  fails: ai(() => { throw new Error("no luck"); }),
  reasoned: mastra("reasoned", { requireApproval: (input) => ({ required: true, reason: "it is a lot" }) }),
};
`;
