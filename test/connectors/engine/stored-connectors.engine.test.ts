import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { codeMode } from "../../../src/code-mode/index.ts";
import { createEngine } from "../../../src/glovebox/index.ts";
import { type Api, bodyWith, documentOf, engineWith, sendJson, serveApi } from "./api.ts";

/* An operation that is under way as its engine closes: another engine goes on with the stored call. */

const KEYED = { parameters: [{ name: "Idempotency-Key", in: "header", schema: { type: "string" } }], ...bodyWith({}) };
const ORDERS = documentOf([
  ["POST", "/orders", "create_order", KEYED],
  ["POST", "/mails", "send_mail", bodyWith({})],
]);

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "glovebox-stored-"));
});
afterAll(() => rm(folder, { recursive: true }));

async function open(api: Api, name: string) {
  const options = engineWith(api, await api.write(ORDERS));
  return createEngine({
    ...options,
    calls: { path: join(folder, `${name}.sqlite`) },
    policy: {
      rules: [{ allow: { connector: ["crm"], tools: ["*"] } }],
      approvals: [{ tools: ["crm.send_mail", "crm.create_order"] }],
    },
    tools: [
      {
        name: "shop",
        description: "Orders.",
        capabilities: { tools: ["crm.*"] },
        source: `export default (input, { host }) => host.tools["crm.create_order"]({ body: {} });`,
      },
    ],
  });
}

/** Has a call approved, closes its engine once its request is under way, and goes on in another one. */
async function handedOver(tool: string) {
  const asked = Promise.withResolvers<undefined>();
  let isUp = false;
  await using api = await serveApi((_request, response) => {
    if (isUp) return sendJson(response, { id: 7 });
    asked.resolve(undefined);
    return undefined;
  });
  const first = await open(api, tool);
  const { error } = await first.execute({ name: tool, arguments: tool === "shop" ? {} : { body: {} } });
  const id = error?.code === "paused" ? (error.details?.id ?? "") : "";
  const [wait] = (await first.calls.durable.get(id))?.waits ?? [];
  if (wait?.kind !== "approval") throw new Error("nothing waits");
  await first.calls.durable.decide(id, { decision: "approve", wait: wait.step, digest: wait.digest });
  await asked.promise;
  await first.close({ drainMs: 0 });
  isUp = true;
  await using second = await open(api, tool);
  const { state } = (await second.calls.durable.get(id)) ?? {};
  if (state === "in_doubt") return { state, keys: [] };
  const result = await second.calls.durable.result(id, {}, { waitMs: 120_000 });
  return { output: result?.output, keys: api.seen.map(({ headers }) => headers["idempotency-key"]) };
}

test.each(["crm.create_order", "shop"])("is sent again with the same Idempotency-Key: %s", async (tool) => {
  const { output, keys } = await handedOver(tool);
  expect(output).toEqual({ id: 7 });
  expect(keys).toEqual([
    expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/),
    keys[0],
  ]);
});

test("is in doubt without such a key", async () => {
  expect(await handedOver("crm.send_mail")).toEqual({ state: "in_doubt", keys: [] });
});

test("asks nobody about arguments that its document refuses, neither for a call nor for a program", async () => {
  await using api = await serveApi((_request, response) => sendJson(response, { id: 7 }));
  await using engine = await open(api, "refused");
  const [name, args]: readonly [string, object] = ["crm.send_mail", { body: "no object" }];
  const { error } = await engine.execute({ name, arguments: { ...args } });
  expect(error?.code).toBe("invalid_arguments");
  const code = `return await tools.${name}(${JSON.stringify(args)}).catch(({ code }) => code);`;
  expect((await codeMode(engine, { typeCheck: "off" }).run(code)).output).toMatchObject({
    result: "invalid_arguments",
  });
  expect((await engine.calls.durable.list({ state: "paused" })).calls).toEqual([]);
  expect(api.seen).toEqual([]);
});
