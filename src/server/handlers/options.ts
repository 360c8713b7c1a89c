import type { Registry, RegistryOptions } from "../../contrib/agentspace/registry.ts";
import type { ServedAssets } from "../http/agentspace-stores.ts";
import type { CallerGrant, KeyOptions } from "../access/key-options.ts";
import { Keys } from "../access/keys.ts";
import { BODIES_BYTES_DEFAULT, BODY_BYTES_DEFAULT } from "../http/body-budget.ts";
import { ROUTE_GROUPS, type RouteGroup } from "../http/route-groups.ts";

/** The sender of a request, as the application identifies it. It passes the same checks as a key. */
export type Caller = CallerGrant;

/** How Glovebox is mounted in another server. One of `authenticate`, `keys` and `allowAnybody` is required. */
export interface HandlerOptions<Incoming> {
  /**
   * Path below which it is mounted, such as `/tools`. Express removes it from the request and reports it; with other
   * servers it is removed here. Default: the path from Express, else none.
   */
  readonly basePath?: string;
  /** Default: execute, tools, mcp, health, openapi. */
  readonly routes?: readonly RouteGroup[];
  /**
   * Identifies the sender of a request; `null` refuses it with 401. Not called for probes and the API's description.
   */
  readonly authenticate?: (request: Incoming) => Answered | Promise<Answered>;
  /** Keys of clients, which they send as `Authorization: Bearer`. */
  readonly keys?: readonly KeyOptions[];
  /** Every client that reaches it may call all tools. */
  readonly allowAnybody?: true;
  /** Origins of web pages that may call it, such as `https://app.example.com`. Default: its own only. */
  readonly origins?: readonly string[];
  /** Host names by which it may be reached, without ports. Default: all that the server accepts. */
  readonly hosts?: readonly string[];
  /** Maximum size of a request body. Default: the maximum input of a tool plus 64 KiB. */
  readonly bodyBytes?: number;
  /** Memory budget for the bodies of all requests in progress. Default 512 MiB; at least one body. */
  readonly bodiesBytes?: number;
  /** Maximum number of calls in a batch. Default 256. */
  readonly batchCalls?: number;
  /** Storage of uploaded AgentSpace packages, and their public address; needed by the routes `assets`. */
  readonly assets?: ServedAssets;
  /** AgentSpace's registry: an open one, or the options to open one; needed by the routes `agentspace`. */
  readonly agentspace?: RegistryOptions | Registry;
}

type Answered = Caller | null | undefined;

/** A handler in another server. The owner keeps the listener, the signals and the engine. */
export interface Mounted {
  /**
   * Prepares for the end of the process: `/readyz` fails, streams end. Resolves when no request is in progress; calls
   * that still run after `drainMs` are cancelled. Default 5,000.
   */
  readonly drain: (options?: { readonly drainMs?: number }) => Promise<void>;
}

/** Options that have been checked. */
export interface Settings<Incoming> {
  /** `null`: not set. */
  readonly basePath: string | null;
  readonly routes: ReadonlySet<RouteGroup>;
  readonly keys: Keys;
  readonly bodyBytes: number;
  readonly bodiesBytes: number;
  readonly options: HandlerOptions<Incoming>;
}

const ROUTES_DEFAULT: readonly RouteGroup[] = ["execute", "tools", "mcp", "health", "openapi"];
const WHO = "authenticate (a function that says who has sent a request), keys, or allowAnybody: true";
const BASE_PATH = /^(?:\/[\w.~!$&'()*+,;=:@%-]+)*\/?$/;

/** Checks the options of a handler. Throws a `TypeError` that describes the mistake. */
export function readOptions<Incoming>(options: HandlerOptions<Incoming> = {}): Settings<Incoming> {
  const { authenticate, keys, allowAnybody, basePath, bodyBytes = BODY_BYTES_DEFAULT } = options;
  const ways = [authenticate, keys, allowAnybody === true ? true : undefined].filter((way) => way !== undefined);
  if (ways.length !== 1) {
    throw new TypeError(
      `${ways.length === 0 ? "nothing says" : "several options say"} who may call: give one of ${WHO}`,
    );
  }
  if (authenticate !== undefined && typeof authenticate !== "function")
    throw new TypeError("authenticate is a function");
  if (keys?.length === 0) throw new TypeError(`keys is empty, so nobody could call: add a key, or give one of ${WHO}`);
  if (basePath !== undefined && !BASE_PATH.test(basePath)) {
    throw new TypeError('basePath is a path such as "/tools": it begins with a slash and has no query');
  }
  const routes = new Set(options.routes ?? ROUTES_DEFAULT);
  for (const group of routes) {
    if (!ROUTE_GROUPS.includes(group)) {
      throw new TypeError(`routes: there is no group "${String(group)}"; there are ${ROUTE_GROUPS.join(", ")}`);
    }
  }
  if (routes.has("admin") && allowAnybody === true) {
    throw new TypeError("routes admin: anybody could register tools; it needs authenticate or keys");
  }
  if (routes.has("calls") && allowAnybody === true) {
    throw new TypeError("routes calls: anybody could read the calls of all; it needs authenticate or keys");
  }
  if (routes.has("assets") && options.assets === undefined) {
    throw new TypeError("routes: assets need the option assets, which says where they are stored");
  }
  if (routes.has("agentspace") && options.agentspace === undefined) {
    throw new TypeError("routes: agentspace needs the option agentspace, which says where the records are");
  }
  return {
    basePath: basePath === undefined ? null : basePath.replace(/\/$/, ""),
    routes,
    keys: new Keys(keys ?? []),
    bodyBytes,
    bodiesBytes: Math.max(options.bodiesBytes ?? BODIES_BYTES_DEFAULT, bodyBytes),
    options,
  };
}
