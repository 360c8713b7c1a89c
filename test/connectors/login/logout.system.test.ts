import path from "node:path";
import { afterEach, expect, test } from "vitest";
import type { ConnectorAuth } from "../../../src/connectors/tool/auth-options.ts";
import type { EndedLogin } from "../../../src/connectors/login/logout.ts";
import { browse, closeAll, folder, openLogins, served } from "./opened.ts";
import { type OidcServer, SECRET } from "./oidc-server.ts";

afterEach(closeAll);

const REDIRECT = "http://127.0.0.1:4711/callback";
type CodeAuth = Extract<ConnectorAuth, { readonly authorizationCode: object }>["authorizationCode"];

/** Logs in, lets `before` act, and logs out. */
async function loggedOut(
  server: OidcServer,
  client: Partial<CodeAuth>,
  before?: () => void,
): Promise<{ readonly ended: EndedLogin; readonly token: string; readonly again: EndedLogin }> {
  const auth = {
    authorizationCode: { issuer: server.issuer, scope: "offline_access read", ...client },
  } as ConnectorAuth;
  const { logins, flow, logOut } = openLogins(server, auth, { CLIENT: SECRET }, path.join(await folder(), "l.sqlite"));
  const { url, finish } = await (await flow()).begin(REDIRECT, "");
  await finish(await browse(url));
  const { value: token } = await logins.token("");
  expect(await server.knows(token)).toBe(true);
  before?.();
  return { ended: await logOut(""), token, again: await logOut("") };
}

/** Paths and bodies that the server is asked for from now on. */
function recorded(server: OidcServer, answer: (path: string) => { status: number; body: string } | null): string[] {
  const paths: string[] = [];
  server.intercept = ({ url = "" }, response) => {
    paths.push(url);
    const own = answer(url);
    if (own === null) return false;
    response.writeHead(own.status, { "content-type": "application/json" }).end(own.body);
    return true;
  };
  return paths;
}

test.each([
  ["a public client", { clientId: "public" }],
  ["a client with a secret", { clientId: "app", clientSecret: "{secret:CLIENT}" }],
  ["a registered client", {}],
])("a logout of %s revokes the refresh token and the access token", async (_name, client) => {
  const server = await served({ redirectUris: [REDIRECT] });
  let paths: string[] = [];
  const { ended, token, again } = await loggedOut(server, client, () => (paths = recorded(server, () => null)));
  expect([ended, again]).toEqual([{ kind: "revoked" }, { kind: "none" }]);
  expect(await server.knows(token)).toBe(false);
  expect(paths.filter((one) => one === "/token/revocation")).toHaveLength(2);
});

test("a logout without a known endpoint says that the tokens stay", async () => {
  const server = await served();
  const { issuer } = server;
  const client = { clientId: "public", tokenUrl: `${issuer}/token`, authorizationUrl: `${issuer}/auth` };
  const { ended, token } = await loggedOut(server, client);
  expect(ended).toEqual({ kind: "forgotten", reason: "the authorization server offers no revocation of its tokens" });
  expect(await server.knows(token)).toBe(true);
});

test("a login is forgotten also where the server refuses to revoke its tokens", async () => {
  const server = await served();
  const { ended, again } = await loggedOut(server, { clientId: "public" }, () => {
    recorded(server, (url) => (url === "/token/revocation" ? { status: 503, body: "" } : null));
  });
  expect([ended, again]).toEqual([
    { kind: "forgotten", reason: "the authorization server answered with HTTP 503" },
    { kind: "none" },
  ]);
});

test("a server that revokes no access tokens is believed, and told of", async () => {
  const server = await served();
  let asked = 0;
  const { ended } = await loggedOut(server, { clientId: "public" }, () => {
    recorded(server, (url) =>
      url === "/token/revocation" && ++asked === 2 ? { status: 400, body: '{"error":"unsupported_token_type"}' } : null,
    );
  });
  expect(ended).toEqual({ kind: "forgotten", reason: "the authorization server revokes no access tokens" });
});

test("tokens are sent to no revocation endpoint of another origin", async () => {
  const server = await served();
  const metadata = (await (await fetch(`${server.issuer}/.well-known/openid-configuration`)).json()) as object;
  const forged = JSON.stringify({ ...metadata, revocation_endpoint: "https://elsewhere.example/revoke" });
  const { ended } = await loggedOut(server, { clientId: "public" }, () => {
    recorded(server, (url) => (url.startsWith("/.well-known/") ? { status: 200, body: forged } : null));
  });
  expect(ended).toEqual({
    kind: "forgotten",
    reason: "its revocation endpoint has another origin than its token endpoint",
  });
});
