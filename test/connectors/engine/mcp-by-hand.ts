import type { ServerResponse } from "node:http";
import { vi } from "vitest";
import { createEngine, type Engine, type EngineOptions } from "../../../src/glovebox/index.ts";
import { type Api, sendJson, serveApi, type Seen } from "./api.ts";

/** An engine whose connectors are all up: on a busy machine it may start before they are. */
export async function openConnected(options: EngineOptions): Promise<Engine> {
  const engine = await createEngine(options);
  await vi.waitUntil(() => engine.connectors().every(({ state }) => state === "up"), { timeout: 120_000 });
  return engine;
}

/** A tool as an MCP server lists it. */
export interface ListedTool {
  readonly name: string;
  readonly description?: string;
  readonly inputSchema?: object;
  readonly outputSchema?: object;
}

/** An MCP server of revision 2025-11-25 whose list and answers a test changes as it likes. */
export interface HandServer extends Pick<Api, "origin" | typeof Symbol.asyncDispose> {
  readonly seen: readonly Seen[];
  tools: readonly ListedTool[];
  /** Result of a call of the tool. */
  answer: (tool: string, request: Seen) => object;
  /** Answers a request itself, where it returns true. */
  guard: (request: Seen, response: ServerResponse) => boolean | Promise<boolean>;
  /** While false, requests are answered with 503. */
  isUp: boolean;
}

interface Message {
  readonly id?: number;
  readonly method: string;
  readonly params?: { readonly name?: string };
}

export async function serveByHand(tools: readonly ListedTool[] = []): Promise<HandServer> {
  const api = await serveApi(async (request, response) => {
    if (await hand.guard(request, response)) return;
    if (!hand.isUp) return void response.writeHead(503).end();
    if (request.method !== "POST") return void response.writeHead(405).end();
    const { id, method, params } = JSON.parse(request.body) as Message;
    if (id === undefined) return void response.writeHead(202).end();
    const say = (message: object): void => sendJson(response, { jsonrpc: "2.0", id, ...message });
    switch (method) {
      case "initialize":
        return say({
          result: {
            protocolVersion: "2025-11-25",
            capabilities: { tools: {} },
            serverInfo: { name: "hand", version: "1" },
          },
        });
      case "tools/list":
        return say({ result: { tools: hand.tools.map((tool) => ({ inputSchema: { type: "object" }, ...tool })) } });
      case "tools/call":
        return say({ result: hand.answer(params?.name ?? "", request) });
      case "ping":
        return say({ result: {} });
      default:
        return say({ error: { code: -32_601, message: "Method not found" } });
    }
  });
  const hand: HandServer = {
    origin: api.origin,
    seen: api.seen,
    tools,
    answer: (tool) => ({ content: [{ type: "text", text: tool }] }),
    isUp: true,
    guard: () => false,
    [Symbol.asyncDispose]: () => api[Symbol.asyncDispose](),
  };
  return hand;
}
