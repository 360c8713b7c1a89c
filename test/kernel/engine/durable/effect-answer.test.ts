import { expect, test } from "vitest";
import { callMcp } from "../../../../src/connectors/guest/mcp.ts";
import { callOpenApi } from "../../../../src/connectors/guest/openapi.ts";
import { answerText } from "../../../../src/kernel/engine/durable/effect-answer.ts";
import { fsFace } from "../../../../src/kernel/guest/faces/fs.ts";
import type { McpOperation, OpenApiOperation } from "../../../../src/kernel/guest/host.ts";

const DOUBT = {
  kind: "outcome",
  arguments: "{}",
  step: 1,
  state: "open",
  openedAt: "",
  expiresAt: null,
  settled: null,
} as const;

test("what a person says of a connector's call is the output of its tool", async () => {
  const operation = { method: "POST", path: "/orders", parameters: [], body: null, accept: null, hasHeaders: false };
  const hear = (asked: string) => () =>
    Promise.resolve(JSON.parse(answerText({ ...DOUBT, asked }, { id: 7 })) as unknown);
  const openApi = callOpenApi(operation as unknown as OpenApiOperation, {}, hear("connector.request"));
  const mcp = callMcp({ kind: "mcp", tool: "order" } as unknown as McpOperation, {}, hear("connector.call"));
  expect(await Promise.all([openApi, mcp])).toEqual([{ id: 7 }, { id: 7 }]);
});

test("what a person says of a file's operation is what its function gives", async () => {
  const hear = (answer: unknown) =>
    fsFace(async () => JSON.parse(answerText({ ...DOUBT, asked: "fs.mkdir" }, answer)) as unknown);
  const made = async (answer: unknown) =>
    (hear(answer) as { mkdir(path: string): Promise<unknown> }).mkdir("/data/new");
  expect(await Promise.all([made(null), made("/data")])).toEqual([undefined, "/data"]);
});
