import { expect, test } from "vitest";
import { createEngine, type Recording, replayCall } from "../../../src/glovebox/index.ts";
import { documentOf, engineWith, SECRET, sendJson, serveApi } from "./api.ts";

test("a recording of a connector's call holds no secret, and is replayed without its server", async () => {
  await using api = await serveApi(({ headers }, response) => sendJson(response, { key: headers["x-key"] }));
  const document = await api.write(documentOf([["GET", "/items/{id}", "get_item"]]));
  const options = { ...engineWith(api, document), broker: "process", executor: "process" } as const;
  await using engine = await createEngine(options);
  const call = { name: "crm.get_item", arguments: { id: "1" } };
  const { output, metadata } = await engine.execute(call, { record: true });
  expect(api.seen[0]?.headers["x-key"]).toBe(SECRET);
  const { recording } = metadata;
  if (recording === undefined || recording === null) throw new Error("the call was not recorded");
  expect(JSON.stringify(recording)).not.toContain(SECRET);
  const replayed = await replayCall(recording as Recording);
  expect(replayed).toMatchObject({ result: { output: { key: "glovebox.secret.CRM." } } });
  expect(output).toEqual({ key: "glovebox.secret.CRM." });
  expect(api.seen).toHaveLength(1);
});
