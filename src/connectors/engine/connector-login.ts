import { GloveboxError } from "../../kernel/base/errors.ts";
import { Connections } from "../../kernel/broker/capabilities/fetch/connections.ts";
import { Secrets } from "../../kernel/broker/capabilities/secrets/secrets.ts";
import { AuthorizationServer } from "../login/authorization-server.ts";
import { LoginFlow } from "../login/login-flow.ts";
import { type EndedLogin, logOut } from "../login/logout.ts";
import type { LoginSettings } from "../login/settings.ts";
import { type LoginStore, openLoginStore } from "../store/login-store.ts";
import type { ResolvedConnector } from "../tool/options.ts";
import { checkLoginSecrets } from "../tool/connector-secrets.ts";
import { type ConnectorsOptions, resolveConnectorsOptions } from "./options.ts";
import type { SourceOptions } from "./connector-source.ts";

/** Logs a connector in, and out. */
export class ConnectorLogin implements AsyncDisposable {
  readonly flow: LoginFlow;
  readonly #server: AuthorizationServer;
  readonly #connections: Connections;
  readonly #store: LoginStore;

  private constructor(settings: LoginSettings, connections: Connections, secrets: Secrets, store: LoginStore) {
    this.#server = new AuthorizationServer(settings, connections, secrets);
    this.#connections = connections;
    this.#store = store;
    this.flow = new LoginFlow(this.#server, store);
  }

  /** Throws a `GloveboxError` if the connector has no login of a person, or the tenant none of its own. */
  static async open(connector: ResolvedConnector, tenant: string, options: SourceOptions): Promise<ConnectorLogin> {
    const { name, login } = connector;
    if (login?.grant.kind !== "authorizationCode")
      throw new GloveboxError("invalid_arguments", `connectors.${name} has no auth of the kind authorizationCode`);
    if (tenant !== "" && !login.grant.perTenant)
      throw new GloveboxError("invalid_arguments", `connectors.${name} has one login for all tenants: set perTenant`);
    const secrets = new Secrets(options.secrets, process.env, () => undefined);
    checkLoginSecrets(connector, secrets);
    return new ConnectorLogin(login, new Connections(options.fetch), secrets, await openLoginStore(options.logins));
  }

  logOut(tenant: string): Promise<EndedLogin> {
    return logOut(this.#server, this.#store, tenant);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#store.close();
    await this.#connections.close();
  }
}

/**
 * Logs in a connector from options, without an engine. Throws if there is no such connector, or an option is invalid.
 */
export function openConnectorLogin(name: string, tenant: string, options: ConnectorsOptions): Promise<ConnectorLogin> {
  const settings = resolveConnectorsOptions(options);
  const connector = settings.connectors.find((one) => one.name === name);
  if (connector === undefined)
    throw new GloveboxError("tool_not_found", `the configuration has no connector "${name.slice(0, 64)}"`);
  return ConnectorLogin.open(connector, tenant, settings);
}
