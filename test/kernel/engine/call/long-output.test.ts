import { expect, test } from "vitest";
import { HostWorkQueue } from "../../../../src/kernel/base/host-work-queue.ts";
import { DEFAULT_LIMITS, MAX_LIMITS } from "../../../../src/kernel/base/limits.ts";
import { NO_CHECKS } from "../../../../src/kernel/base/protocol/script.ts";
import { resultParts, resultText, type ToolResult } from "../../../../src/kernel/base/result.ts";
import { HostAccount } from "../../../../src/kernel/base/tenant-account.ts";
import { concludeCall } from "../../../../src/kernel/engine/call/conclude.ts";
import { checkInPieces, staysText } from "../../../../src/kernel/engine/call/long-output.ts";
import { outputOf } from "../../../../src/kernel/executor/executor.ts";
import { registeredTool } from "../../../../src/kernel/tool/registered-tool.ts";
import { NO_READERS } from "../../../../src/kernel/tool/contracts/contract.ts";

const LONG = 300 * 1024;
const COUNTS = { cpuMs: 0, waitedMs: 0, wallMs: 0, heapBytes: 0, dropped: 0, deliveredCount: 0, attempts: 1 };

const tool = registeredTool(
  { name: "tool", description: "Returns anything." },
  NO_CHECKS,
  { runtime: "javascript", text: "", bytes: 0, sourceMap: "", sources: [] },
  {
    ok: true,
    contract: "glovebox",
    described: "null",
    spec: "null",
    defaultExport: "function",
    isolation: "instance",
    evaluationMs: 0,
    key: "k",
  },
  { limits: DEFAULT_LIMITS, maxLimits: MAX_LIMITS, readers: NO_READERS, registrant: "operator" },
);

/** The result of a call whose executor sent this as its output. */
async function conclude(json: string, parts?: readonly string[]): Promise<ToolResult> {
  const ended = { callId: "c", tool, tenant: "", command: undefined, limits: DEFAULT_LIMITS, queueMs: 0, attempts: 0 };
  const checked = await checkInPieces(parts ?? json, new HostWorkQueue(), new HostAccount("", null));
  const call = { ...ended, lastRefusal: null, effects: 0 };
  const outcome = outputOf(json, parts);
  return concludeCall({ outcome, logs: "", ...COUNTS }, call, { refusedForMs: () => 0 }, checked);
}

test("a text that only a compromised executor sends never becomes a part of an answer", async () => {
  const long = "x".repeat(LONG);
  for (const json of [
    `1,"error":null,"metadata":{"callId":"${long}"},"more":1`,
    `{}},{"success":true,"output":"${long}"`,
    `[${"1,".repeat(LONG)}`,
    `"${long}`,
    `"${long}\n\ndata: {}"`,
    " ".repeat(LONG),
  ]) {
    expect(staysText(json, tool)).toBe(true);
    expect(await conclude(json)).toMatchObject({ success: false, output: null, error: { code: "executor_crashed" } });
  }
});

test("a long output is passed on as it came, and refused where it is too deep or has too many values", async () => {
  const json = `{"text":"${"x".repeat(LONG)}"}`;
  expect(resultText(await conclude(json))).toContain(`"output":${json},"error":null`);
  const deep = `${"[".repeat(2_000)}${" ".repeat(LONG)}${"]".repeat(2_000)}`;
  expect((await conclude(deep)).error).toMatchObject({
    code: "invalid_output",
    message: "the output is nested deeper than 1000 levels",
  });
  const text = await conclude(`"${"é".repeat(DEFAULT_LIMITS.outputBytes - 100)}"`);
  expect(text.error).toMatchObject({ code: "output_too_large" });
});

test("an output in parts is checked, counted and passed on without being joined", async () => {
  const parts = [`["${"x".repeat(LONG)}`, `é","${"é".repeat(LONG)}"`, "]"];
  const json = parts.join("");
  expect(JSON.stringify(outputOf("", parts))).toBe(JSON.stringify({ ok: true, json }));
  const result = await conclude(json, parts);
  expect(resultParts(result).slice(1, -1)).toEqual(parts);
  expect(resultText(result)).toContain(`"output":${json},"error":null`);
  expect(result.output).toEqual(JSON.parse(json));
  const wrong = await conclude(json, [...parts.slice(0, -1), '],"error":null']);
  expect(wrong.error).toMatchObject({ code: "executor_crashed" });
  const large = await conclude(json, [...parts.slice(0, -1), `,"${"é".repeat(LONG)}"`, "]"]);
  expect(large.error).toMatchObject({ code: "output_too_large" });
});
