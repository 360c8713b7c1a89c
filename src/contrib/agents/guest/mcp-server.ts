import { isObject, isThenable, methodOf } from "../../../kernel/guest/contracts/adapter.ts";
import { McpToolError, readMcpResult } from "../../../connectors/guest/mcp.ts";
import { ToolContext } from "../../../kernel/guest/tool-context.ts";
import type { Library, LibraryTool } from "../../../kernel/guest/contracts/library.ts";
import { isFunctionIn, memberOf, textIn } from "./library.ts";

/**
 * Servers of the Model Context Protocol that are not connected: `new McpServer(…)` with `registerTool`, or a `Server` with
 * handlers. Each instance of the module has a client, which speaks to the server over a transport in memory.
 */
export const mcpServer: Library = {
  name: "mcp",
  matches: (value) =>
    isFunctionIn(value, "connect") &&
    (isFunctionIn(value, "registerTool") || isFunctionIn(value, "setRequestHandler")) &&
    !isFunctionIn(value, "callTool"),
  nameOf: () => undefined,
  refusal: () => undefined,
  has: async (server, name) => {
    const tools = await toolsOf(await clientOf(server));
    return tools.some((tool) => tool.name === name);
  },
  describe: async (value) => toolsOf(await clientOf(value)),
  open: (value, { name }) => {
    return async (input, context) => {
      const result = await (await clientOf(value)).call(name, input, context);
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

const VERSION = "2025-06-18";
const NO_METHOD = -32_601;

/** A server accepts only one client. */
const clients = new WeakMap<object, Promise<McpClient>>();

function clientOf(server: object): Promise<McpClient> {
  let client = clients.get(server);
  if (client === undefined) {
    client = McpClient.open(server);
    clients.set(server, client);
  }
  return client;
}

class McpClient {
  readonly #waiting = new Map<unknown, { resolve: (result: unknown) => void; reject: (error: Error) => void }>();
  /** Contexts of calls, by the number of their request, which is their progress token too. */
  readonly #contexts = new Map<unknown, ToolContext>();
  #last = 0;
  readonly #transport = {
    // Set by the server when it is connected.
    onmessage: undefined as unknown,
    start: () => Promise.resolve(),
    close: () => Promise.resolve(),
    send: (message: unknown) => this.#read(message),
  };

  static async open(server: object): Promise<McpClient> {
    const client = new McpClient();
    await methodOf(server, "connect")?.(client.#transport);
    const clientInfo = { name: "glovebox", version: "1.0.0" };
    await client.request("initialize", { protocolVersion: VERSION, capabilities: {}, clientInfo });
    client.#send({ method: "notifications/initialized" });
    return client;
  }

  async call(name: string, input: unknown, context: ToolContext): Promise<unknown> {
    const id = this.#last + 1;
    this.#contexts.set(id, context);
    const cancel = (): void => this.#send({ method: "notifications/cancelled", params: { requestId: id } });
    methodOf(context.signal, "addEventListener")?.("abort", cancel);
    try {
      return await this.request("tools/call", { name, arguments: input, _meta: { progressToken: id } });
    } finally {
      this.#contexts.delete(id);
    }
  }

  request(method: string, params: object): Promise<unknown> {
    const id = ++this.#last;
    const answer = new Promise<unknown>((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
    this.#send({ id, method, params });
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
      // In a separate turn: the server does not wait for an answer yet.
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
    if (method === "notifications/progress") {
      const [progress, total, message] = ["progress", "total", "message"].map((name) => memberOf(params, name));
      // The context ignores values other than numbers and texts.
      if (typeof progress === "number")
        this.#contexts.get(memberOf(params, "progressToken"))?.progress(progress, total as number, message as string);
    } else if (method === "notifications/message") {
      const context = [...this.#contexts.values()].at(-1);
      const data = memberOf(params, "data");
      const text = typeof data === "string" ? data : (JSON.stringify(data) ?? "");
      if (context !== undefined) ToolContext.log(context, String(memberOf(params, "level")), text);
    }
  }
}
