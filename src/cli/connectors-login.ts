import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { Command, InvalidArgumentError } from "commander";
import { GloveboxError } from "../kernel/base/errors.ts";
import type { ConnectorLogin } from "../connectors/engine/connector-login.ts";
import type { GivenLogin } from "../connectors/login/login-flow.ts";
import { LOGGED_IN, notLoggedIn } from "../server/http/login-page.ts";
import { CliError, EXIT } from "./exit.ts";
import { CONFIG, engineOptions, orUsage, readConfig } from "./open-engine.ts";
import { print, printJson, say, visible } from "./output.ts";

interface LoginOptions {
  readonly config?: string;
  readonly tenant?: string;
  readonly device?: true;
  readonly port: number;
  readonly json?: true;
}

/** Time that a person has to log in. */
const LOGIN_MS = 600_000;
const CALLBACK = "/callback";

/** `glovebox connectors login` and `logout`. */
export function loginCommands(): readonly Command[] {
  const common = (name: string): Command =>
    new Command(name)
      .argument("<name>", "the connector")
      .option("--tenant <tenant>", "tenant whose login it is, for a connector with perTenant (default: the operator's)")
      .option(...CONFIG)
      .option("--json", "print JSON at the end; what a person is to do goes to stderr");
  return [
    common("login")
      .description("log a connector with an auth of the kind authorizationCode in, with a browser")
      .option("--device", "print a code, to log in on another device")
      .option("--port <port>", "port of this machine to which the browser is sent back", portOf, 0)
      .action(login),
    common("logout")
      .description("forget the login of a connector, and revoke its tokens at the authorization server")
      .action(logout),
  ];
}

async function login(name: string, { config, tenant = "", device, port, json }: LoginOptions): Promise<void> {
  await using opened = await open(name, tenant, config);
  const ask = json === true ? say : print;
  const logging = device === true ? byDevice(opened, tenant, ask) : byBrowser(opened, tenant, port, ask);
  const { isRenewed, lifeMs } = await logging.catch((error: unknown) => {
    throw new CliError(EXIT.FAILED, error instanceof Error ? error.message : "the login failed");
  });
  if (!isRenewed) say(`glovebox: warning: ${endsIn(lifeMs ?? 0)}`);
  if (json === true) return printJson({ connector: name, tenant, isLoggedIn: true });
  print(`${visible(name)} is logged in${tenant === "" ? "" : ` for ${visible(tenant)}`}`);
}

async function logout(name: string, { config, tenant = "", json }: LoginOptions): Promise<void> {
  await using opened = await open(name, tenant, config);
  const ended = await opened.logOut(tenant);
  if (ended.kind === "forgotten") {
    const still = "its tokens may be valid at the authorization server until they end";
    say(`glovebox: warning: ${still}: ${visible(ended.reason)}; revoke the access of this client there`);
  }
  if (json === true) {
    const wasLoggedIn = ended.kind !== "none";
    return printJson({ connector: name, tenant, isLoggedIn: false, wasLoggedIn, isRevoked: ended.kind === "revoked" });
  }
  const done = {
    none: "had no login",
    revoked: "is logged out, and its tokens are revoked",
    forgotten: "is logged out",
  };
  print(`${visible(name)} ${done[ended.kind]}`);
}

async function open(name: string, tenant: string, file: string | undefined): Promise<ConnectorLogin> {
  const options = engineOptions(await readConfig(file));
  const { openConnectorLogin } = await import("../connectors/engine/connector-login.ts");
  const opening = Promise.try(() => openConnectorLogin(name, tenant, options));
  return orUsage(
    opening.catch((error: unknown) => {
      if (error instanceof GloveboxError) throw new CliError(EXIT.USAGE, error.message);
      throw error;
    }),
  );
}

function endsIn(lifeMs: number): string {
  const remedy = "ask for one with the scope of its auth (often offline_access), and log in again";
  return `the server gave no refresh token, so the login ends in ${Math.ceil(lifeMs / 60_000)} min; ${remedy}`;
}

async function byDevice({ flow }: ConnectorLogin, tenant: string, ask: (line: string) => void): Promise<GivenLogin> {
  const { userCode, verificationUrl, completeUrl, finish } = await flow.device(tenant);
  ask(`Open ${visible(completeUrl ?? verificationUrl)}`);
  ask(`and enter the code ${visible(userCode)}`);
  return finish(AbortSignal.timeout(LOGIN_MS));
}

/** Waits on the loopback address for the browser (RFC 8252). A client without the state gets no information. */
async function byBrowser(
  { flow }: ConnectorLogin,
  tenant: string,
  port: number,
  ask: (line: string) => void,
): Promise<GivenLogin> {
  const server = createServer();
  try {
    await once(server.listen(port, "127.0.0.1"), "listening");
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { url, state, finish } = await flow.begin(origin + CALLBACK, tenant);
    ask(`Open ${visible(url)}`);
    say(`glovebox: waits for the browser at ${origin}; --device logs in on another device`);
    return await sentBack(server, { origin, state, finish });
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

/** Resolves when the browser has come back and the login is stored. */
function sentBack(
  server: Server,
  {
    origin,
    state,
    finish,
  }: { readonly origin: string; readonly state: string; readonly finish: (url: URL) => Promise<GivenLogin> },
): Promise<GivenLogin> {
  const { promise, resolve, reject } = Promise.withResolvers<GivenLogin>();
  const late = setTimeout(() => reject(new Error("nobody has logged in within ten minutes")), LOGIN_MS);
  server.on("request", (request, response) => {
    const url = URL.parse(request.url ?? "", origin);
    const isBack = url?.pathname === CALLBACK && url.searchParams.get("state") === state;
    if (request.method !== "GET" || url === null || !isBack) return void response.writeHead(404).end();
    finish(url).then(
      (given) => response.writeHead(200, LOGGED_IN.headers).end(LOGGED_IN.text, () => resolve(given)),
      (error: unknown) => {
        const { headers, text } = notLoggedIn("the terminal in which it was begun says why");
        response.writeHead(400, headers).end(text, () => reject(error as Error));
      },
    );
  });
  return promise.finally(() => clearTimeout(late));
}

function portOf(text: string): number {
  const port = Number(text);
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return port;
  throw new InvalidArgumentError("A port is a number from 0 to 65535.");
}
