import { hash, randomUUID } from "node:crypto";
import type { McpCall, Operation, RemoteRequest } from "../../kernel/guest/host.ts";
import {
  type Capability,
  CapabilityRefusal,
  type OpenCall,
  type OpenCapability,
} from "../../kernel/broker/capabilities/capability.ts";
import type { OpenModule } from "../../kernel/broker/capabilities/module-capability.ts";
import { requireGranted } from "../../kernel/broker/capabilities/names.ts";
import { Connections, type FetchOptions } from "../../kernel/broker/capabilities/fetch/connections.ts";
import { CONNECTOR } from "./methods.ts";
import { type ConnectorHost, type RemoteCaller, RemoteServer } from "./remote-server.ts";
import type { ConnectorRoute } from "./route.ts";

/** The servers of an engine's connectors. */
class RemoteServers {
  readonly #host: ConnectorHost;
  #servers: ReadonlyMap<string, RemoteServer> = new Map();

  constructor({ fetch, ...host }: Omit<ConnectorHost, "connections"> & { readonly fetch: FetchOptions }) {
    this.#host = { ...host, connections: new Connections(fetch) };
  }

  /** The connectors from now on. An unchanged one keeps its rates and its slots. */
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

  /** Throws if it was removed. */
  find(name: string): RemoteServer {
    const server = this.#servers.get(name);
    if (server === undefined) throw new Error(`the engine has no connector "${name}" any more, or not yet`);
    return server;
  }
}

/** For the broker's thread, which imports this module. */
export const open: OpenModule = ({ onSecretViolation: onViolation, ask: callTool, tell: onLogin, ...host }) => {
  const servers = new RemoteServers({ ...host, onViolation, callTool, onLogin });
  const { name, grants, methods } = CONNECTOR;
  const capability: Capability<readonly string[]> = {
    name,
    grants,
    methods,
    open: (call, granted) => sessionFor(call, granted.flat(), servers),
    close: () => servers.close(),
  };
  return {
    capability: capability as Capability,
    use: (routes) => servers.use(routes as readonly ConnectorRoute[]),
  };
};

function sessionFor(call: OpenCall, granted: readonly string[], servers: RemoteServers): OpenCapability {
  const { callId, callNumber = null, tool, signal, tenant = "", remote, effectsId, onHost = (task) => task() } = call;
  if (remote === undefined) throw notRemote(tool);
  const operation = JSON.parse(remote.operation) as Operation;
  const { connector } = operation;
  const idempotencyHeader = operation.kind === "openapi" ? operation.idempotencyHeader : null;
  const { isRepeatable } = operation;
  // Not the call's id: callers choose it, and may choose another tenant's.
  const idempotencyKey = effectsId === undefined ? randomUUID() : uuidOf(effectsId);
  const endsMs = performance.now() + remote.wallMs;
  const caller: RemoteCaller = { callId, callNumber, tool, signal, tenant, onHost, endsMs, isRepeatable };
  requireGranted("connector", "connector", connector, granted);
  return {
    isRepeatable: () => isRepeatable,
    invoke: (method, args) => {
      const asked = args as McpCall | RemoteRequest;
      // The isolate has the same operation: a different one means that it is compromised.
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

/** The same for the same text, in the form that servers expect of a key. */
function uuidOf(text: string): string {
  const digest = hash("sha256", text);
  return [
    digest.slice(0, 8),
    digest.slice(8, 12),
    `8${digest.slice(13, 16)}`,
    `8${digest.slice(17, 20)}`,
    digest.slice(20, 32),
  ].join("-");
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
