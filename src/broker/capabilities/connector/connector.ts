import { randomUUID } from "node:crypto";
import type { McpCall, Operation, RemoteRequest } from "../../../guest/host.ts";
import type { JsonSchema } from "../../../base/json.ts";
import { type Capability, CapabilityRefusal, type OpenCall, type OpenCapability } from "../capability.ts";
import { nameGrants, requireGranted } from "../names.ts";
import { Connections, type FetchOptions } from "../fetch/connections.ts";
import { type ConnectorHost, READING, type RemoteCaller, RemoteServer } from "./remote-server.ts";
import type { ConnectorRoute } from "./route.ts";

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

/** The servers of an engine's connectors. */
export class RemoteServers {
  readonly #host: ConnectorHost;
  #servers: ReadonlyMap<string, RemoteServer> = new Map();

  constructor({ fetch, ...host }: Omit<ConnectorHost, "connections"> & { readonly fetch: FetchOptions }) {
    this.#host = { ...host, connections: new Connections(fetch) };
  }

  /** The connectors from now on. One that is the same keeps its rates and its slots. */
  use(routes: readonly ConnectorRoute[]): void {
    const servers = routes.map((route) => {
      const old = this.#servers.get(route.name);
      const isSame = old !== undefined && JSON.stringify(old.route) === JSON.stringify(route);
      return [route.name, isSame ? old : new RemoteServer(route, this.#host)] as const;
    });
    const old = this.#servers;
    this.#servers = new Map(servers);
    for (const [name, server] of old) if (this.#servers.get(name) !== server) void server.close();
  }

  async close(): Promise<void> {
    await Promise.allSettled([...this.#servers.values()].map((server) => server.close()));
    await this.#host.connections.close();
  }

  /** Throws where it was removed. */
  find(name: string): RemoteServer {
    const server = this.#servers.get(name);
    if (server === undefined) throw new Error(`the engine has no connector "${name}" any more, or not yet`);
    return server;
  }
}

/** `connector`: carries out the operation of a connector's tool at its server. Only such a tool can use it. */
export function createConnector(servers: RemoteServers): Capability<readonly string[]> {
  return {
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
    open: (call, grants) => sessionFor(call, grants.flat(), servers),
    close: () => servers.close(),
  };
}

function sessionFor(call: OpenCall, granted: readonly string[], servers: RemoteServers): OpenCapability {
  const { callId, tool, signal, tenant = "", remote, onHost = (task) => task() } = call;
  if (remote === undefined) throw notRemote(tool);
  const operation = JSON.parse(remote.operation) as Operation;
  const { connector } = operation;
  const idempotencyHeader = operation.kind === "openapi" ? operation.idempotencyHeader : null;
  const isRepeatable = operation.isRepeatable || idempotencyHeader !== null;
  // Not the call's id: callers choose it, and may choose another tenant's.
  const idempotencyKey = randomUUID();
  const endsMs = performance.now() + remote.wallMs;
  const caller: RemoteCaller = { callId, tool, signal, tenant, onHost, endsMs, isRepeatable };
  requireGranted("connector", "connector", connector, granted);
  return {
    invoke: (method, args) => {
      const asked = args as McpCall | RemoteRequest;
      // The isolate holds the same operation: another one means that it is compromised.
      if (asked.connector !== connector) throw otherOperation(tool);
      if (method === "call" && operation.kind === "mcp") {
        const { tool: name, arguments: text, isRead } = args as McpCall;
        if (name !== operation.tool || isRead !== operation.isRead) throw otherOperation(tool);
        return servers.find(connector).call(name, text, caller);
      }
      if (method !== "request" || operation.kind !== "openapi") throw otherOperation(tool);
      const request = args as RemoteRequest;
      if (request.method !== operation.method) throw otherOperation(tool);
      if (idempotencyHeader === null) return servers.find(connector).request(request, caller);
      const headers = request.headers.filter(([name]) => name.toLowerCase() !== idempotencyHeader.toLowerCase());
      const named = { ...request, headers: [...headers, [idempotencyHeader, idempotencyKey] as const] };
      return servers.find(connector).request(named, caller);
    },
  };
}

function notRemote(tool: string): CapabilityRefusal {
  return new CapabilityRefusal("denied", `tool "${tool}" is not a connector's`, {
    asked: "connector",
    granted: "nothing: only the tools of a connector have an operation of another server",
    remedy: "let the tool call a connector's tool, with the capability tools",
  });
}

function otherOperation(tool: string): CapabilityRefusal {
  return new CapabilityRefusal("denied", `this is not the operation of tool "${tool}"`, {
    asked: "another operation",
    granted: "its own operation",
    remedy: "call the tool that has this operation",
  });
}
