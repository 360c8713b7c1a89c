import { expect, test } from "vitest";
import { codeMode } from "../../src/code-mode/index.ts";
import { documentOf, engineWith, SECRET, sendJson, serveApi } from "../connectors/engine/api.ts";
import { createFleetEngine, startFleet } from "./fleet.ts";

test("a machine runs a connector's tool, and its server sends the request with the secret", async () => {
  await using fleet = await startFleet(1, { slots: 4, workers: 2 });
  await using api = await serveApi(({ url }, response) => sendJson(response, { url }));
  const document = await api.write(documentOf([["GET", "/items/{id}", "get_item"]]));
  const { connectors, secrets, policy } = engineWith(api, document);
  await using engine = await createFleetEngine({
    executor: { kind: "queue", url: fleet.url, fleet: fleet.name },
    ...(connectors && { connectors }),
    ...(secrets && { secrets }),
    ...(policy && { policy }),
  });
  const program = 'return (await tools.crm.get_item({ id: "1" })).url;';
  const { output, error } = await codeMode(engine, { typeCheck: "off" }).run(program);
  expect(error).toBeNull();
  expect(output).toMatchObject({ result: "/items/1" });
  expect(api.seen[0]?.headers["x-key"]).toBe(SECRET);
});
