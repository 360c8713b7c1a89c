import { join } from "node:path";
import type { LoginStoreOptions } from "../store/login-table.ts";
import { resolveFleetName, resolveRedisUrl } from "../../fleet/redis/url.ts";
import { resolveSecret } from "../../kernel/store/seal.ts";
import { type ConnectorOptions, type ResolvedConnector, resolveConnectors } from "../tool/options.ts";
import { checkMembers, type EngineOptions, resolvePath, STATE_DIR } from "../../kernel/engine/options.ts";
import type { SourceSettings } from "../../kernel/engine/sources.ts";
import type { SourceOptions } from "./connector-source.ts";

declare module "../../kernel/engine/options.ts" {
  interface EngineOptions<Sources extends readonly ToolSource[] = readonly ToolSource[]> {
    /**
     * Servers whose operations become tools, by name: MCP servers, and servers with an OpenAPI document. Their tools are
     * `name.operation`, and a policy rule allows them by `connector: [name]`.
     */
    readonly connectors?: { readonly [name: string]: ConnectorOptions };
    /** The store of logins of connectors with an `auth` of OAuth. */
    readonly logins?: LoginOptions;
  }
}

/** The store of connectors' logins: a file, or Redis for engines on several machines. Sealed. */
export interface LoginOptions {
  /**
   * Path of a file that engines of one machine share, or `:memory:`. Without it and `url`, the file `logins.sqlite` of
   * `stateDir` is used.
   */
  readonly path?: string;
  /** Redis or Valkey instead of a file. Needs a secret. */
  readonly url?: string;
  /** Name of the fleet: engines with the same name and Redis share logins. Default `default`. */
  readonly fleet?: string;
  /**
   * Text of at least 16 characters from which the key is derived. Default: a random key in a file of the same name with
   * the suffix `.key`.
   */
  readonly secret?: string;
}

/** The engine's options on which connectors depend. */
export type ConnectorsOptions = Pick<EngineOptions, "connectors" | "secrets" | "fetch" | "logins" | "stateDir">;

/** These options with all defaults. */
export interface ConnectorsSettings extends SourceOptions, SourceSettings {
  readonly connectors: readonly ResolvedConnector[];
}

/** Throws a `TypeError` or a `RangeError` that names the invalid option. */
export function resolveConnectorsOptions(options: ConnectorsOptions): ConnectorsSettings {
  const { secrets = {}, fetch = {}, logins: given = {}, stateDir = STATE_DIR } = options;
  checkMembers("logins", given, ["path", "url", "fleet", "secret"]);
  const logins = resolveLogins(given, stateDir);
  return { connectors: resolveConnectors(options.connectors), secrets, fetch, logins, fixed: { logins } };
}

function resolveLogins({ path, url, fleet, secret }: LoginOptions, stateDir: string): LoginStoreOptions {
  const sealing = resolveSecret("logins.secret", secret);
  if (url === undefined) {
    if (fleet !== undefined) throw new TypeError("logins.fleet requires logins.url");
    const file = resolvePath("logins.path", path ?? join(stateDir, "logins.sqlite"));
    return { kind: "file", path: file, secret: sealing ?? null };
  }
  if (path !== undefined) throw new TypeError("logins takes a path or a url, not both");
  if (sealing === undefined) throw new TypeError("logins.url requires logins.secret: others may read that Redis");
  const where = { url: resolveRedisUrl("logins.url", url), fleet: resolveFleetName("logins.fleet", fleet) };
  return { kind: "redis", ...where, secret: sealing };
}
