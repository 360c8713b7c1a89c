import { expect, test, vi } from "vitest";
import { DetailWriter } from "../../../../src/kernel/engine/call/detail-writer.ts";
import type { EngineCall } from "../../../../src/kernel/engine/call/engine-call.ts";
import type { Explanation } from "../../../../src/kernel/engine/explanation.ts";

const TOOL = {
  info: { name: "t", inputSchema: {}, outputSchema: null },
  readResult: null,
  script: { isolation: "instance", contract: "glovebox" },
};
const END = { output: null, error: null, reply: null, isTaken: false } as const;

test("explanations of a tool for ever new tenants are written 100 times a second, and calls beyond are kept without", () => {
  const explain = vi.fn((_tool: unknown, tenant: string) => ({ tenant }) as Explanation);
  const writer = new DetailWriter({ redact: undefined, explain, entropyKey: "" });
  using now = vi.spyOn(performance, "now").mockReturnValue(5_000);
  const detailOf = (tenant: string) =>
    writer.write({ tool: TOOL, args: "{}", tenant, begunMs: 0, startsMs: [] } as unknown as EngineCall, END);
  const details = Array.from({ length: 150 }, (_, at) => detailOf(`t${at}`));
  expect(explain).toHaveBeenCalledTimes(100);
  expect(details.filter((detail) => detail?.explanation === null)).toHaveLength(50);
  expect(details.at(-1)?.omitted).toContain("explanation");
  // What was written lately is not written again.
  expect(detailOf("t99")?.explanation).toBe('{"tenant":"t99"}');
  now.mockReturnValue(6_000);
  expect(detailOf("new")?.explanation).toBe('{"tenant":"new"}');
  expect(explain).toHaveBeenCalledTimes(101);
});
