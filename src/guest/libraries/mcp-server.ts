import { isObject, isThenable, methodOf } from "../contracts/adapter.ts";
import { McpToolError, readMcpResult } from "../remote/mcp.ts";
import { ToolContext } from "../tool-context.ts";
import { isFunctionIn, type Library, type LibraryTool, memberOf, textIn } from "./library.ts";

/**
 * Servers of the Model Context Protocol that are not connected: `new McpServer(…)` with `registerTool`, or a `Server` with
 * handlers. A call is a client of its own, which speaks to the server over a transport in memory, as any client would.
 */
export const mcpServer: Library = {
  name: "mcp",
  matches: (value) =>
    isFunctionIn(value, "connect") &&
    (isFunctionIn(value, "registerTool") || isFunctionIn(value, "setRequestHandler")) &&
    !isFunctionIn(value, "callTool"),
  nameOf: () => undefined,
  refusal: () => undefined,
  describe: async (value) => toolsOf(await McpClient.open(value, null)),
  open: (value, { name }) => {
    return async (input, context) => {
      const client = await McpClient.open(value, context);
      const result = await client.request("tools/call", { name, arguments: input, _meta: { progressToken: name } });
      return readMcpResult(isObject(result) ? result : {}, false);
    };
  },
};

const PAGES_MAX = 20;

async function toolsOf(client: McpClient): Promise<LibraryTool[]> {
  const tools: LibraryTool[] = [];
  let cursor: unknown;
  for (let page = 0; page < PAGES_MAX; page++) {
    const result = await client.request("tools/list", cursor === undefined ? {} : { cursor });
    const listed = memberOf(result, "tools");
    for (const tool of Array.isArray(listed) ? (listed as readonly unknown[]) : []) {
      if (!isObject(tool)) continue;
      tools.push({
        name: textIn(tool, "name"),
        description: textIn(tool, "description") ?? textIn(tool, "title"),
        input: memberOf(tool, "inputSchema"),
        output: memberOf(tool, "outputSchema"),
        listed: tool,
      });
    }
    cursor = memberOf(result, "nextCursor");
    if (cursor === undefined || cursor === null) break;
  }
  return tools;
}

/** Whether a server has a tool of this name. */
export async function hasMcpTool(server: object, name: string): Promise<boolean> {
  const tools = await toolsOf(await McpClient.open(server, null));
  return tools.some((tool) => tool.name === name);
}

const VERSION = "2025-06-18";
const NO_METHOD = -32_601;

/** The client of one call. */
class McpClient {
  readonly #context: ToolContext | null;
  readonly #waiting = new Map<unknown, { resolve: (result: unknown) => void; reject: (error: Error) => void }>();
  #last = 0;
  /** How the server hears of a message, once it is connected. */
  readonly #transport = {
    onmessage: undefined as unknown,
    start: () => Promise.resolve(),
    close: () => Promise.resolve(),
    send: (message: unknown) => this.#read(message),
  };

  private constructor(context: ToolContext | null) {
    this.#context = context;
  }

  static async open(server: object, context: ToolContext | null): Promise<McpClient> {
    const client = new McpClient(context);
    await methodOf(server, "connect")?.(client.#transport);
    const clientInfo = { name: "glovebox", version: "1.0.0" };
    await client.request("initialize", { protocolVersion: VERSION, capabilities: {}, clientInfo });
    client.#send({ method: "notifications/initialized" });
    return client;
  }

  request(method: string, params: object): Promise<unknown> {
    const id = ++this.#last;
    const answer = new Promise<unknown>((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
    this.#send({ id, method, params });
    const cancel = (): void => this.#send({ method: "notifications/cancelled", params: { requestId: id } });
    if (method === "tools/call") methodOf(this.#context?.signal, "addEventListener")?.("abort", cancel);
    return answer;
  }

  #send(message: object): void {
    const told: unknown = methodOf(this.#transport, "onmessage")?.({ jsonrpc: "2.0", ...message });
    if (isThenable(told)) Promise.resolve(told).catch(() => undefined);
  }

  #read(message: unknown): Promise<void> {
    const id = memberOf(message, "id");
    const method = memberOf(message, "method");
    if (method === undefined) this.#settle(id, message);
    else if (id === undefined) this.#hear(method, memberOf(message, "params"));
    else {
      const asked = typeof method === "string" ? method : "this";
      const problem = `${asked} is not available: a tool in an isolate has no client that answers it`;
      // In a turn of its own: the server does not wait for an answer yet.
      void Promise.resolve().then(() => this.#send({ id, error: { code: NO_METHOD, message: problem } }));
    }
    return Promise.resolve();
  }

  #settle(id: unknown, message: unknown): void {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    const error = memberOf(message, "error");
    if (error === undefined) waiting?.resolve(memberOf(message, "result"));
    else waiting?.reject(new McpToolError(String(memberOf(error, "message"))));
  }

  #hear(method: unknown, params: unknown): void {
    if (this.#context === null) return;
    const [progress, total, message] = ["progress", "total", "message"].map((name) => memberOf(params, name));
    if (method === "notifications/progress" && typeof progress === "number") {
      // The context leaves out what is no number and no text.
      this.#context.progress(progress, total as number, message as string);
    } else if (method === "notifications/message") {
      const data = memberOf(params, "data");
      const text = typeof data === "string" ? data : (JSON.stringify(data) ?? "");
      ToolContext.log(this.#context, String(memberOf(params, "level")), text);
    }
  }
}
