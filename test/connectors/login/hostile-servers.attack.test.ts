import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Connections } from "../../../src/kernel/broker/capabilities/fetch/connections.ts";
import { findLogin } from "../../../src/connectors/login/protected-resource.ts";
import type { ConnectorAuth } from "../../../src/connectors/tool/auth-options.ts";
import { closeAll, openLogins } from "./opened.ts";

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

const SECRET = "a client secret that nobody sees";
let issuer = "";
let other = "";
let answer: Answer = () => undefined;
const asked: string[] = [];
const servers: AsyncDisposable[] = [];

async function listen(handle: Answer): Promise<string> {
  const server = createServer(handle);
  servers.push({
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await server[Symbol.asyncDispose]();
    },
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

beforeEach(async () => {
  asked.length = 0;
  issuer = await listen((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    answer(request, response);
  });
  other = await listen((request, response) => {
    asked.push(`other: ${request.method} ${request.url}`);
    response.end("{}");
  });
});
afterEach(async () => {
  await closeAll();
  for (const each of servers.splice(0)) await each[Symbol.asyncDispose]();
});

function json(response: ServerResponse, value: unknown, status = 200): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
}

const client = { clientId: "machine", clientSecret: "{secret:CLIENT}" };

/** What the holder of the login is told. */
async function failure(auth: ConnectorAuth, secrets: Record<string, string> = { CLIENT: SECRET }): Promise<string> {
  const { logins } = openLogins({ issuer }, auth, secrets);
  const error: unknown = await logins.token("").then(
    () => "it got a token",
    (reason: unknown) => reason,
  );
  return String(error);
}

const byToken = (): ConnectorAuth => ({ clientCredentials: { tokenUrl: `${issuer}/token`, ...client } });
const byIssuer = (): ConnectorAuth => ({ clientCredentials: { issuer, ...client } });

test.each<[string, Answer, RegExp]>([
  ["a megabyte", (_, response) => void response.end("x".repeat(1024 * 1024)), /answer has more than 65536 bytes/],
  ["garbage", (_, response) => void response.end("<html>"), /is not one of OAuth/],
  ["a list", (_, response) => json(response, []), /is not one of OAuth/],
  ["no token", (_, response) => json(response, { token_type: "bearer" }), /is not one of OAuth/],
  [
    "another type",
    (_, response) => json(response, { access_token: "a".repeat(20), token_type: "mac" }),
    /not one of OAuth/,
  ],
  [
    "a line break in a token",
    (_, response) => json(response, { access_token: "abcdefgh\r\nx-admin: 1", token_type: "bearer" }),
    /visible characters/,
  ],
  [
    "a short token",
    (_, response) => json(response, { access_token: "abc", token_type: "bearer" }),
    /8 to 8192 visible/,
  ],
  [
    "a huge token",
    (_, response) => json(response, { access_token: "a".repeat(9_000), token_type: "bearer" }),
    /8 to 8192 visible/,
  ],
  [
    "an invalid life",
    (_, response) => json(response, { access_token: "a".repeat(20), token_type: "bearer", expires_in: "soon" }),
    /not one of OAuth/,
  ],
  [
    "a wide header",
    (_, response) => void response.writeHead(200, { "x-wide": "x".repeat(20_000) }).end(),
    /headers are too large/,
  ],
  [
    "informational responses without end",
    (_, response) => {
      const more = (error?: Error | null): void => {
        if (!error) response.socket?.write("HTTP/1.1 103 Early Hints\r\n\r\n".repeat(100), more);
      };
      more();
    },
    /too many informational responses/,
  ],
  [
    "pieces of a byte",
    (_, response) => {
      const head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
      response.socket?.write(`${head}${"1\r\n \r\n".repeat(20_000)}0\r\n\r\n`);
    },
    // Node 24 joins the pieces that wait in a stream, so that they are few.
    process.version.startsWith("v24.") ? /not one of OAuth/ : /too many pieces of a few bytes/,
  ],
  ["a closed connection", (_, response) => void response.destroy(), /the connection was lost/],
])("a server that answers with %s gives no token", async (_name, answered, message) => {
  answer = answered;
  const told = await failure(byToken());
  expect(told).toMatch(message);
  expect(told).not.toContain(SECRET);
  expect(asked).toHaveLength(1);
});

test("an answer without an end is given up", async () => {
  answer = (_request, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    const timer = setInterval(() => response.write(" "), 100);
    response.on("close", () => clearInterval(timer));
  };
  expect(await failure(byToken())).toMatch(/no whole answer within 3000 ms/);
});

test("no redirect is followed, so that no secret goes where a server points", async () => {
  for (const status of [301, 302, 307, 308]) {
    answer = (_request, response) => void response.writeHead(status, { location: `${other}/steal` }).end();
    expect(await failure(byToken())).toMatch(/which is not followed/);
  }
  expect(asked.filter((line) => line.startsWith("other"))).toEqual([]);
});

test("the words of a server are not repeated: they may be our secrets", async () => {
  answer = (request, response) => {
    request.resume();
    json(response, { error: SECRET, error_description: SECRET, error_uri: SECRET }, 400);
  };
  const told = await failure({ clientCredentials: { tokenUrl: `${issuer}/token`, ...client, clientAuth: "post" } });
  expect(told).toMatch(/refuses: an error that OAuth does not know/);
  expect(told).not.toContain(SECRET);
});

test("metadata of another issuer are not used", async () => {
  answer = (_request, response) =>
    json(response, { issuer: "https://accounts.example.com", token_endpoint: `${issuer}/token` });
  expect(await failure(byIssuer())).toMatch(/names another issuer/);
  expect(asked.every((line) => line.includes("/.well-known/"))).toBe(true);
});

test.each([
  ["an internal address", "http://169.254.169.254/token", /without TLS: http:\/\/169.254.169.254/],
  ["an internal address over TLS", "https://10.0.0.1/token", /has an address that is not public|is not bound/],
  ["a file", "file:///etc/passwd", /without TLS/],
  ["no URL", "token", /no URL/],
])("metadata that name %s as the token endpoint are not followed", async (_name, endpoint, message) => {
  answer = (_request, response) => json(response, { issuer, token_endpoint: endpoint });
  expect(
    await failure(
      { refreshToken: { issuer, clientId: "public", token: "{secret:FIRST}" } },
      { FIRST: "a first token" },
    ),
  ).toMatch(message);
});

test("a server of this machine that the operator does not name gets nothing, though the issuer is one", async () => {
  answer = (_request, response) => json(response, { issuer, token_endpoint: `${other}/token` });
  expect(await failure(byIssuer())).toMatch(/without TLS/);
  expect(asked.filter((line) => line.startsWith("other"))).toEqual([]);
});

test("a client's secret goes to no token endpoint to which it is not bound", async () => {
  answer = (_request, response) => json(response, { issuer, token_endpoint: "https://tokens.example.com/token" });
  expect(await failure(byIssuer())).toMatch(
    /the secret "CLIENT" is not bound to the token endpoint; add \{ origin: "https:\/\/tokens.example.com", in: "basic:password" \}/,
  );
});

test("a server that refuses has its metadata and its token endpoint asked once for a thousand calls", async () => {
  answer = (request, response) => {
    if (request.url?.includes("well-known") === true) json(response, { issuer, token_endpoint: `${issuer}/token` });
    else json(response, { error: "invalid_client" }, 401);
  };
  const { logins } = openLogins({ issuer }, byIssuer(), { CLIENT: SECRET });
  for (let times = 0; times < 1_000; times++) await expect(logins.token("")).rejects.toThrow("needs a login");
  expect(asked).toHaveLength(2);
});

test("a server of the device flow is asked once a second at most, whatever it says", async () => {
  let polls = 0;
  answer = ({ url }, response) => {
    const device = { device_code: "d", user_code: "u", verification_uri: `${issuer}/device` };
    if (url === "/device") return json(response, { ...device, expires_in: 1e300, interval: 1e-9 });
    json(response, { error: ++polls < 3 ? "authorization_pending" : "access_denied" }, 400);
  };
  const urls = { tokenUrl: `${issuer}/token`, deviceUrl: `${issuer}/device` };
  const { flow } = openLogins({ issuer }, { authorizationCode: { ...urls, clientId: "public" } }, {});
  const { finish } = await (await flow()).device("");
  const startMs = performance.now();
  await expect(finish(AbortSignal.timeout(60_000))).rejects.toThrow("refuses: access_denied");
  expect(polls).toBe(3);
  // Timers may fire a millisecond early.
  expect(performance.now() - startMs).toBeGreaterThan(2_900);
});

describe("metadata of a protected resource", () => {
  const ask = async (): Promise<unknown> => {
    const connections = new Connections({ headersMs: 3_000 });
    try {
      return await findLogin(`${issuer}/mcp`, false, connections).catch(String);
    } finally {
      await connections.close();
    }
  };
  const refuse = (response: ServerResponse, metadata: string): void =>
    void response.writeHead(401, { "www-authenticate": `Bearer resource_metadata="${metadata}"` }).end();

  test.each<[string, (at: string) => object]>([
    ["of another resource", () => ({ resource: "https://other.example.com", authorization_servers: [issuer] })],
    [
      "with a server at an internal address",
      (at) => ({ resource: at, authorization_servers: ["http://169.254.169.254"] }),
    ],
    ["with a server that is no URL", (at) => ({ resource: at, authorization_servers: ["x"] })],
    ["without a server", (at) => ({ resource: at, authorization_servers: [] })],
  ])("%s are not used", async (_name, described) => {
    answer = ({ url }, response) => {
      if (url?.includes("well-known") === true) json(response, described(`${issuer}/mcp`));
      else refuse(response, `${issuer}/.well-known/oauth-protected-resource/mcp`);
    };
    expect(await ask()).toBeNull();
    expect(asked.every((line) => line.includes("/mcp") || line.includes("oauth-protected-resource"))).toBe(true);
  });

  test("at another server of this machine are not asked for", async () => {
    answer = ({ url }, response) => {
      if (url === "/mcp") refuse(response, `${other}/metadata`);
      else response.writeHead(404).end();
    };
    expect(await ask()).toBeNull();
    expect(asked.filter((line) => line.startsWith("other"))).toEqual([]);
  });
});
