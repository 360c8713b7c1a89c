import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { PendingLogins } from "../../../src/connectors/engine/pending-logins.ts";
import { resolveConnectors } from "../../../src/connectors/tool/options.ts";

const PLACE = { redirectUri: "https://glovebox.example.com/callback", tenant: "" };

test("logins that begin at once wait for a browser in the same places as those that have begun", async () => {
  await using server = createServer((_request, response) => {
    const { port } = server.address() as AddressInfo;
    const issuer = `http://127.0.0.1:${port}`;
    response.writeHead(200, { "content-type": "application/json", connection: "close" });
    response.end(JSON.stringify({ issuer, authorization_endpoint: `${issuer}/login` }));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const auth = { authorizationCode: { issuer, clientId: "public" } };
  const [connector] = resolveConnectors({ crm: { mcp: { url: "https://mcp.example.com" }, auth } });
  if (connector === undefined) throw new TypeError("no connector");
  await using logins = new PendingLogins();
  const options = { secrets: {}, fetch: {}, logins: { kind: "file", path: ":memory:", secret: null } } as const;
  const begun = await Promise.allSettled(Array.from({ length: 130 }, () => logins.begin(connector, PLACE, options)));
  const refused = begun.filter(({ status }) => status === "rejected");
  expect(refused).toHaveLength(30);
  expect(refused[0]).toMatchObject({ reason: { code: "rate_limited" } });
});
