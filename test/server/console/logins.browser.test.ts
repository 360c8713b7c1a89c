import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createEngine } from "../../../src/glovebox/index.ts";
import { createServer, type Server } from "../../../src/server/http/server.ts";
import { closeAll, folder, served } from "../../connectors/login/opened.ts";
import { type Api, documentOf, serveApi } from "../../connectors/engine/api.ts";
import { launch, part, violationsOf, visit } from "./harness.ts";

let browser: Browser;
let server: Server;
let api: Api;

beforeAll(async () => {
  const oidc = await served();
  api = await serveApi();
  const document = await api.write(documentOf([["GET", "/items/{id}", "read"]]));
  const auth = { authorizationCode: { issuer: oidc.issuer, scope: "offline_access read" } };
  const engine = await createEngine({
    workers: 1,
    executor: "threads",
    stateDir: await folder(),
    connectors: { crm: { openapi: { document, server: api.origin }, auth } },
    policy: { rules: [{ tools: ["crm.*"], allow: { connector: ["crm"] } }] },
  });
  // The login of an API is looked at when it is first used.
  await engine.execute({ name: "crm.read", arguments: { id: "1" } });
  [browser, server] = await Promise.all([launch(), createServer(engine, { port: 0, drainMs: 0, admin: "open" })]);
}, 300_000);
afterAll(async () => {
  await Promise.all([browser.close(), server.close()]);
  await api[Symbol.asyncDispose]();
  await closeAll();
});

test("a connector that needs a login is shown with a button, whose page logs it in", async () => {
  await using visited = await visit(browser, server.url);
  const { page, complaints } = visited;
  const row = part(page, "Logins").getByRole("row", { name: /^crm/ });
  await row.getByText("nobody has logged in").waitFor();
  expect(await violationsOf(page)).toEqual([]);
  const opened = page.waitForEvent("popup");
  await row.getByRole("button", { name: "Log in to crm" }).click();
  await (await opened).getByText("Logged in. You can close this window.").waitFor();
  await part(page, "Logins").waitFor({ state: "hidden" });
  expect(complaints).toEqual([]);
});
