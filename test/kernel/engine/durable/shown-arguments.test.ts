import { describe, expect, test } from "vitest";
import { shownArguments, withShownWaits } from "../../../../src/kernel/engine/durable/shown-arguments.ts";
import type { CallWait } from "../../../../src/kernel/store/calls/durable/durable-call.ts";
import type { RegisteredTool } from "../../../../src/kernel/tool/registered-tool.ts";
import type { ToolRegistry } from "../../../../src/kernel/tool/registry.ts";

const PIN = { format: "password" };

function tool(inputSchema: object): RegisteredTool {
  return { info: { inputSchema } } as RegisteredTool;
}

function registry(...tools: readonly RegisteredTool[]): Pick<ToolRegistry, "get"> {
  return { get: () => tools[0] };
}

/** A call whose one wait was approved with other arguments than were shown. */
function edited(shown: unknown, args: unknown): { readonly tenant: string; readonly waits: readonly CallWait[] } {
  const settled = { at: "", by: null, actor: null, reason: null, arguments: args, data: null };
  const wait = { kind: "approval", tool: "login", arguments: shown, settled } as unknown as CallWait;
  return { tenant: "t", waits: [wait] };
}

function editsOf(calls: ReturnType<typeof withShownWaits>): readonly unknown[] {
  return calls.map(({ waits }) => waits[0]?.settled?.arguments);
}

describe("arguments of a call that waits for an approval", () => {
  test("are hidden as a whole where the schema has too many parts to say where a password is", () => {
    // Each of 300 items has 300 schemas, and each of them a password in its midst.
    const items = { anyOf: Array.from({ length: 300 }, () => ({ properties: { pin: PIN } })) };
    const args = (count: number): string => JSON.stringify(Array.from({ length: count }, () => ({ pin: "4711" })));
    expect(shownArguments(args(3), tool({ items }))).toEqual(Array(3).fill({ pin: "[redacted]" }));
    expect(shownArguments(args(300), tool({ items }))).toBe("[redacted]");
  });

  test("of many calls in one answer have one allowance of steps", () => {
    const items = { anyOf: Array.from({ length: 300 }, () => ({ properties: { pin: PIN } })) };
    const calls = Array.from({ length: 100 }, () => edited([], [{ pin: "1" }]));
    const edits = editsOf(withShownWaits(calls, registry(tool({ items }))));
    expect(edits.at(0)).toEqual([{ pin: "[redacted]" }]);
    expect(edits.at(-1)).toBe("[redacted]");
  });

  test("that were edited are hidden where this process lacks the tool and something of them was hidden", () => {
    const known = withShownWaits([edited({ pin: "[redacted]" }, { pin: "1" })], registry());
    const others = withShownWaits([edited({ amount: 1 }, { amount: 2 })], registry());
    expect(editsOf([...known, ...others])).toEqual(["[redacted]", { amount: 2 }]);
  });
});
