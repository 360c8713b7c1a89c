import { describe, expect, test } from "vitest";
import { type ConnectorOptions, resolveConnectors } from "../../../src/connectors/tool/options.ts";

const ISSUER = "https://auth.example.com";
const client = { issuer: ISSUER, clientId: "app", clientSecret: "{secret:CLIENT}" };

function resolve(auth: unknown, more: object = {}) {
  const options = { openapi: { document: "api.json", server: "https://api.example.com" }, auth, ...more };
  return resolveConnectors({ crm: options as ConnectorOptions })[0];
}

describe("auth", () => {
  test.each<[string, unknown, RegExp]>([
    ["nothing", {}, /connectors\.crm\.auth must be an object with one of basic, bearer/],
    ["two kinds", { bearer: { token: "{secret:T}" }, basic: {} }, /with one of basic/],
    ["an unknown kind", { digest: {} }, /with one of basic/],
    ["a token in plain text", { bearer: { token: "abcdefgh" } }, /auth\.bearer\.token must be \{secret:NAME\}/],
    ["a user with a colon", { basic: { user: "a:b", password: "{secret:P}" } }, /user must have no colon/],
    ["a header of the host", { apiKey: { in: "header", name: "host", value: "{secret:K}" } }, /that a client may set/],
    ["another place", { apiKey: { in: "body", name: "key", value: "{secret:K}" } }, /must be header, query or cookie/],
    ["an option that does not exist", { clientCredentials: { ...client, secret: "x" } }, /secret is not an option/],
    ["no server", { clientCredentials: { clientId: "a", clientSecret: "{secret:C}" } }, /an issuer or a tokenUrl/],
    ["no client", { clientCredentials: { issuer: ISSUER, clientSecret: "{secret:C}" } }, /must have a clientId/],
    ["no proof", { clientCredentials: { issuer: ISSUER, clientId: "a" } }, /a clientSecret or a privateKey/],
    [
      "two proofs",
      { clientCredentials: { ...client, privateKey: "{secret:K}" } },
      /either a clientSecret or a privateKey/,
    ],
    [
      "an algorithm with a shared secret",
      { clientCredentials: { issuer: ISSUER, clientId: "a", privateKey: "{secret:K}", algorithm: "HS256" } },
      /algorithm must be one of RS256/,
    ],
    [
      "a server without TLS",
      { clientCredentials: { ...client, issuer: "http://auth.example.com" } },
      /begins with https:\/\//,
    ],
    [
      "a password in a URL",
      { clientCredentials: { ...client, issuer: "https://a:b@auth.example.com" } },
      /begins with https/,
    ],
    [
      "no place to log in",
      { authorizationCode: { tokenUrl: `${ISSUER}/token`, clientId: "a" } },
      /an authorizationUrl or a deviceUrl/,
    ],
  ])("%s is refused", (_name, auth, message) => {
    expect(() => resolve(auth)).toThrow(message);
  });

  test("a header that auth sets is not set twice", () => {
    const headers = { Authorization: "Bearer {secret:T}" };
    expect(() => resolve({ clientCredentials: client }, { headers })).toThrow(
      /sets the header authorization by its auth/,
    );
    expect(() => resolve({ bearer: { token: "{secret:T}" } }, { headers })).toThrow(/sets the header authorization/);
  });

  test("a process has none", () => {
    const process = { mcp: { command: "server" }, auth: { bearer: { token: "{secret:T}" } } };
    expect(() => resolveConnectors({ crm: process })).toThrow(/auth is for servers that are reached over HTTP/);
  });

  test("a key in the query, and the resource of an MCP server, follow from the options", () => {
    expect(resolve({ apiKey: { in: "query", name: "key", value: "{secret:K}" } })?.source).toMatchObject({
      query: [["key", "glovebox.secret.K."]],
    });
    const mcp = { mcp: { url: "https://mcp.example.com/mcp" }, auth: { authorizationCode: { issuer: ISSUER } } };
    expect(resolveConnectors({ crm: mcp })[0]?.login).toMatchObject({
      resource: "https://mcp.example.com/mcp",
      clientId: null,
      proof: { kind: "none" },
    });
  });

  test("an authorization server on a private address is named by the operator, or allowed by private", () => {
    const issuer = "http://10.0.0.7:8080";
    expect(resolve({ clientCredentials: { ...client, issuer } })?.login?.issuer).toBe(issuer);
    const named = { clientCredentials: { ...client, issuer: "http://auth.internal" } };
    expect(() => resolve(named)).toThrow(/http:\/\/ is for private addresses/);
    expect(resolve(named, { private: true })?.login).toMatchObject({ isPrivate: true });
  });
});
