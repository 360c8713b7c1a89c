import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { Connections } from "../../../src/kernel/broker/capabilities/fetch/connections.ts";
import { Secrets } from "../../../src/kernel/broker/capabilities/secrets/secrets.ts";
import type { LoginReport } from "../../../src/kernel/base/connector-report.ts";
import { AuthorizationServer } from "../../../src/connectors/login/authorization-server.ts";
import { LoginFlow } from "../../../src/connectors/login/login-flow.ts";
import type { LoginStoreOptions } from "../../../src/connectors/store/login-table.ts";
import { type EndedLogin, logOut } from "../../../src/connectors/login/logout.ts";
import { type LoginStore, openLoginStore } from "../../../src/connectors/store/login-store.ts";
import { Logins } from "../../../src/connectors/login/logins.ts";
import { type ConnectorAuth, resolveAuth } from "../../../src/connectors/tool/auth-options.ts";
import { type OidcOptions, type OidcServer, SECRET, serveOidc } from "./oidc-server.ts";

const opened: AsyncDisposable[] = [];

export async function closeAll(): Promise<void> {
  for (const each of opened.splice(0).toReversed()) await each[Symbol.asyncDispose]();
}

export async function served(options: OidcOptions = {}): Promise<OidcServer> {
  const server = await serveOidc(options);
  opened.push(server);
  return server;
}

export async function folder(): Promise<string> {
  const made = await mkdtemp(path.join(tmpdir(), "glovebox-logins-"));
  opened.push({ [Symbol.asyncDispose]: () => rm(made, { recursive: true, force: true }) });
  return made;
}

/** Follows a browser's redirects, with its cookies, until it is sent back. `account`: who logs in. */
export async function browse(start: string, account = "ann"): Promise<URL> {
  const cookies = new Map<string, string>();
  let url = new URL(start);
  url.searchParams.set("login_hint", account);
  for (let hops = 0; hops < 10; hops++) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const response = await fetch(url, { redirect: "manual", headers: { cookie } });
    for (const set of response.headers.getSetCookie()) {
      const [pair = ""] = set.split(";");
      cookies.set(pair.slice(0, pair.indexOf("=")), pair.slice(pair.indexOf("=") + 1));
    }
    const location = response.headers.get("location");
    if (location === null) throw new TypeError(`HTTP ${response.status}: ${(await response.text()).slice(0, 500)}`);
    url = new URL(location, url);
    if (url.pathname.endsWith("/callback")) return url;
  }
  throw new TypeError("too many redirects");
}

interface Opened {
  readonly flow: () => Promise<LoginFlow>;
  readonly logOut: (tenant: string) => Promise<EndedLogin>;
  readonly logins: Logins;
  readonly reports: LoginReport[];
}

/** The logins of a connector as a process of their own has them: nothing but the file is shared. */
export function openLogins(
  { issuer }: Pick<OidcServer, "issuer">,
  auth: ConnectorAuth,
  secrets: { readonly [name: string]: string },
  store: string | LoginStoreOptions = ":memory:",
): Opened {
  const { login } = resolveAuth(auth, { connector: "crm", where: "connectors.crm.auth", mcp: null, isPrivate: false });
  if (login === null) throw new TypeError("no login");
  const places = ["basic:password", "body"] as const;
  const bind = places.map((place) => ({ origin: issuer, in: place }));
  const given = Object.entries(secrets).map(([name, value]) => [name, { value, bind }] as const);
  const connections = new Connections({ headersMs: 3_000 });
  const reports: LoginReport[] = [];
  const kept = typeof store === "string" ? ({ kind: "file", path: store, secret: null } as const) : store;
  const use = { settings: login, store: kept };
  const logins = new Logins(use, "https://api.example.com/v1", {
    connections,
    secrets: new Secrets(Object.fromEntries(given), {}),
    onReport: (report) => void reports.push(report),
  });
  opened.push({
    [Symbol.asyncDispose]: async () => {
      await logins.close();
      await connections.close();
    },
  });
  const parts = async (): Promise<readonly [AuthorizationServer, LoginStore]> => {
    const server = new AuthorizationServer(login, connections, new Secrets(Object.fromEntries(given), {}));
    const logged = await openLoginStore(kept);
    opened.push({ [Symbol.asyncDispose]: () => logged.close() });
    return [server, logged];
  };
  const flow = async (): Promise<LoginFlow> => new LoginFlow(...(await parts()));
  return { logins, reports, flow, logOut: async (tenant) => logOut(...(await parts()), tenant) };
}

export function machineOf({ issuer }: OidcServer): ConnectorAuth {
  return { clientCredentials: { issuer, clientId: "machine", clientSecret: "{secret:CLIENT}", scope: "read" } };
}

/** Options with a first refresh token, and their secrets. */
export async function refreshingOf(
  server: OidcServer,
): Promise<readonly [auth: ConnectorAuth, secrets: { readonly [name: string]: string }]> {
  const token = await server.refreshTokenFor("app");
  const client = { issuer: server.issuer, clientId: "app", clientSecret: "{secret:CLIENT}" };
  return [{ refreshToken: { ...client, token: "{secret:FIRST}" } }, { CLIENT: SECRET, FIRST: token }];
}
