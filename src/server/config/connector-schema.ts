import { COUNT, DURATION, exactlyOne, PATH, section, TEXTS } from "./schema-parts.ts";

const TEXTS_BY_NAME = { type: "object", additionalProperties: { type: "string" } };
/** A client of an authorization server, whose secrets are written `{secret:NAME}`. */
const CLIENT = {
  issuer: PATH,
  tokenUrl: PATH,
  clientId: PATH,
  clientSecret: PATH,
  privateKey: PATH,
  keyId: PATH,
  algorithm: PATH,
  clientAuth: { enum: ["basic", "post", "private_key_jwt", "none"] },
  scope: PATH,
  audience: PATH,
  resource: PATH,
};
/** How a connector's requests are authenticated. */
const AUTH = {
  ...section({
    basic: { ...section({ user: PATH, password: PATH }), required: ["user", "password"] },
    bearer: { ...section({ token: PATH }), required: ["token"] },
    apiKey: {
      ...section({ in: { enum: ["header", "query", "cookie"] }, name: PATH, value: PATH }),
      required: ["in", "name", "value"],
    },
    clientCredentials: section(CLIENT),
    refreshToken: { ...section({ ...CLIENT, token: PATH }), required: ["token"] },
    authorizationCode: section({
      ...CLIENT,
      authorizationUrl: PATH,
      deviceUrl: PATH,
      perTenant: { type: "boolean" },
    }),
  }),
  minProperties: 1,
  maxProperties: 1,
};
/** A connector; the engine checks the meaning of the values. */
export const CONNECTOR = {
  ...section({
    mcp: {
      ...section({
        url: PATH,
        headers: TEXTS_BY_NAME,
        command: PATH,
        args: TEXTS,
        env: TEXTS_BY_NAME,
        cwd: PATH,
        folders: {
          type: "object",
          additionalProperties: {
            anyOf: [
              { enum: ["ro", "rw"] },
              { ...section({ path: PATH, mode: { enum: ["ro", "rw"] } }), required: ["path", "mode"] },
            ],
          },
        },
        network: { type: "boolean" },
        sandbox: { enum: ["require", "off"] },
      }),
      ...exactlyOne("url", "command"),
    },
    openapi: section({
      document: PATH,
      url: PATH,
      pin: PATH,
      server: PATH,
      headers: { type: "boolean" },
      mounts: TEXTS,
    }),
    auth: AUTH,
    headers: TEXTS_BY_NAME,
    query: TEXTS_BY_NAME,
    tools: TEXTS,
    pin: { type: "string" },
    rateLimit: { ...section({ calls: COUNT, perMs: DURATION }), required: ["calls", "perMs"] },
    concurrency: COUNT,
    timeoutMs: COUNT,
    undo: {
      type: "object",
      additionalProperties: { ...section({ tool: PATH, arguments: TEXTS_BY_NAME }), required: ["tool", "arguments"] },
    },
    trustAnnotations: { type: "boolean" },
    descriptions: { enum: ["none"] },
    private: { type: "boolean" },
  }),
  ...exactlyOne("mcp", "openapi"),
};
