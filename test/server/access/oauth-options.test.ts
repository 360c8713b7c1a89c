import { expect, test } from "vitest";
import { type OAuthOptions, readOAuth } from "../../../src/server/access/oauth-options.ts";

const PUBLIC = "https://tools.example.com/";
const GOOD: OAuthOptions = {
  issuer: "https://login.example.com",
  jwksUri: "https://login.example.com/keys",
  scopes: { "tools.call": ["execute"] },
  tenant: "acme",
};
const INTROSPECTION = { url: "https://login.example.com/i", clientId: "g", clientSecret: { env: "SECRET" } };

test("tokens are for the public address by default, and signed with key pairs", () => {
  const { audience, algorithms, resource } = readOAuth(GOOD, PUBLIC, {});
  expect(audience).toEqual([
    "https://tools.example.com",
    "https://tools.example.com/",
    "https://tools.example.com/mcp",
  ]);
  expect(resource).toBe("https://tools.example.com");
  expect(algorithms.filter((name) => /^HS|none/.test(name))).toEqual([]);
});

test("the secret of introspection is read from its variable", () => {
  const { jwksUri: _, ...others } = GOOD;
  const options = { ...others, introspection: INTROSPECTION };
  expect(readOAuth(options, PUBLIC, { SECRET: "abc\n" }).clientSecret).toBe("abc");
  const of = (env: string) => ({ ...options, introspection: { ...INTROSPECTION, clientSecret: { env } } });
  expect(() => readOAuth(of("IDP_SECRET"), PUBLIC, {})).toThrow(/a variable that is not set: IDP_SECRET$/);
  expect(() => readOAuth(of("hunter2_hunter2"), PUBLIC, {})).toThrow(/a variable that is not set$/);
});

test.each<[string, Partial<Record<keyof OAuthOptions, unknown>>, RegExp]>([
  ["no way to check tokens", { jwksUri: undefined }, /oauth/],
  ["two ways to check tokens", { introspection: INTROSPECTION }, /oauth/],
  ["no tenant", { tenant: undefined }, /oauth/],
  ["a tenant and its claim", { tenantClaim: "org" }, /oauth/],
  ["no scopes", { scopes: {} }, /scopes/],
  ["a scope without roles", { scopes: { x: [] } }, /scopes/],
  ["a role that there is not", { scopes: { x: ["root"] } }, /scopes/],
  ["a scope that ends another's quotes", { scopes: { 'x"': ["execute"] } }, /scopes/],
  ["shared secrets", { algorithms: ["HS256"] }, /algorithms/],
  ["no signature", { algorithms: ["none"] }, /algorithms/],
  ["keys over plain HTTP", { jwksUri: "http://login.example.com/keys" }, /jwksUri.*https/],
  ["an issuer over plain HTTP", { issuer: "http://login.example.com" }, /issuer.*https/],
  ["a setting that there is not", { secret: "x" } as object, /oauth/],
])("options are refused: %s", (_what, change, problem) => {
  const options = Object.fromEntries(Object.entries({ ...GOOD, ...change }).filter(([, value]) => value !== undefined));
  expect(() => readOAuth(options as never, PUBLIC, {})).toThrow(problem);
});

test("a public address is needed, as tokens name it", () => {
  expect(() => readOAuth(GOOD, undefined, {})).toThrow("oauth needs publicUrl");
});

test("a secret that stands where its source should is not shown", () => {
  const { jwksUri: _, ...others } = GOOD;
  const options = { ...others, introspection: { ...INTROSPECTION, clientSecret: "hunter22" } };
  expect(() => readOAuth(options as never, PUBLIC, {})).toThrow(/^(?!.*hunter22)/);
});
