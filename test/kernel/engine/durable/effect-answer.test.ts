import { expect, test } from "vitest";
import { callMcp } from "../../../../src/connectors/guest/mcp.ts";
import { callOpenApi } from "../../../../src/connectors/guest/openapi.ts";
import { answerText } from "../../../../src/kernel/engine/durable/effect-answer.ts";
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
