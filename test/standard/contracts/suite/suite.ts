import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Contract, ContractError, type ModuleContract, type Outcome } from "../../../../src/standard/contracts.ts";
import type { ContractEvent } from "../../../../src/standard/contracts.ts";
import { toolError } from "../../../../src/kernel/base/errors.ts";
import { emptyMetadata, failure, type ToolResult } from "../../../../src/kernel/base/result.ts";
import { type Golden, readGolden } from "./golden.ts";
import { fieldsOfOutcome, lostInSilence, type RoundTrip, shows, tripCall, tripResult, tripTool } from "./round-trip.ts";
import { CALL_ID, calls, json, resultOf, results, tools } from "./samples.ts";

/** Where the golden messages of results have no name of a tool. */
const TOOL = "get_weather";

/** What every contract is held to. */
export function contractSuite(contract: Contract | ModuleContract): void {
  const golden = readGolden(contract.name);

  describe(`the contract ${contract.name}`, () => {
    test("has golden messages of tools, calls and results", () => {
      expect([...new Set(golden.map(({ kind }) => kind))].toSorted()).toEqual(["call", "result", "tool"]);
    });

    test.each(golden)("reads and writes $file without loss", ({ kind, message }) => {
      expect(plain(rewrite(contract, { kind, message }))).toMatchObject(plain(message) as object);
    });

    describe("with hostile input", () => {
      const hostile = fc.oneof(json, fc.constantFrom(...golden.map(({ message }) => message)).chain(mutations));
      const readers = readersOf(contract);
      test.each(Object.keys(readers))("%s answers or throws a ContractError", (name) => {
        const reader = readers[name] ?? expect.fail(name);
        const known = Object.getOwnPropertyNames(Object.prototype).length;
        fc.assert(fc.property(hostile, (message) => expectReadOrRefused(contract, reader, message)));
        expect(Object.getOwnPropertyNames(Object.prototype)).toHaveLength(known);
      });

      test.each([undefined, () => 1, Symbol("no"), 1n])("%s is refused like any other", (message) => {
        for (const reader of Object.values(readers)) expectReadOrRefused(contract, reader, message);
      });
    });

    test("writes whatever the engine makes, the same each time, and changes nothing of it", () => {
      fc.assert(
        fc.property(tools, calls, results, (tool, call, result) => {
          const before = structuredClone({ tool, call, result });
          for (const given of [tool, call, result]) freeze(given);
          expect(plain(contract.writeTool(tool))).toEqual(plain(contract.writeTool(before.tool)));
          expect(plain(contract.writeCall(call))).toEqual(plain(contract.writeCall(before.call)));
          expect(plain(contract.writeResult(result))).toEqual(plain(contract.writeResult(before.result)));
          for (const event of eventsOf(result)) expect(() => contract.writeEvent(event)).not.toThrow();
        }),
      );
    });

    test("reads the same each time, and changes nothing of what it reads", () => {
      for (const { kind, message } of golden) {
        const frozen = freeze(structuredClone(message));
        expect(read(contract, { kind, message: frozen })).toEqual(read(contract, { kind, message }));
      }
    });

    test("loses nothing of a tool, a call or a result but what it says that it loses [F1]", () => {
      fc.assert(
        fc.property(tools, (tool) => keeps(contract, tripTool(contract, tool))),
        { numRuns: 200 },
      );
      fc.assert(
        fc.property(calls, (call) => keeps(contract, tripCall(contract, call))),
        { numRuns: 200 },
      );
      fc.assert(
        fc.property(results, (result) => keeps(contract, tripResult(contract, result))),
        { numRuns: 200 },
      );
    });

    test("loses all that it says that it loses", () => {
      const trips = [
        ...fc.sample(tools, { numRuns: 500, seed: 1 }).map((tool) => tripTool(contract, tool)),
        ...fc.sample(calls, { numRuns: 100, seed: 1 }).map((call) => tripCall(contract, call)),
        ...[...fc.sample(results, { numRuns: 500, seed: 1 }), ...TELLING].map((each) => tripResult(contract, each)),
      ];
      expect(contract.losses.filter((loss) => !trips.some((trip) => shows(trip, loss)))).toEqual([]);
    });

    test("what it wrote and read again it writes in the same way", () => {
      fc.assert(
        fc.property(tools, calls, results, (tool, call, result) => {
          const again = (given: unknown): unknown => contract.writeTool(contract.readTool(given));
          const definition = again(contract.writeTool(tool));
          expect(plain(again(definition))).toEqual(plain(definition));
          const message = contract.writeCall(call);
          expect(plain(contract.writeCall(contract.readCall(message)))).toEqual(plain(message));
          const outcome = contract.readResult(contract.writeResult(result));
          const second = contract.readResult(contract.writeResult(resultOf(outcome, result.metadata.tool)));
          expect(told(second)).toEqual(told(outcome));
        }),
      );
    });
  });
}

/** Golden messages of one contract, through another, lose what that one says. */
export function pairSuite(from: Contract, to: Contract): void {
  test(`${from.name} in, ${to.name} out [F1 E47]`, () => {
    for (const { kind, message } of readGolden(from.name)) {
      switch (kind) {
        case "tool":
          keeps(to, tripTool(to, from.readTool(message)));
          break;
        case "call":
          keeps(to, tripCall(to, from.readCall(message)));
          break;
        case "result":
          keeps(to, tripResult(to, resultOf(from.readResult(message), TOOL)));
          break;
      }
    }
  });
}

/** Results that show what only few do. */
const TELLING: readonly ToolResult[] = [
  { success: true, output: "42", error: null, metadata: emptyMetadata(CALL_ID, TOOL, 0) },
  { success: true, output: "Error: none", error: null, metadata: emptyMetadata(CALL_ID, TOOL, 0) },
  {
    success: true,
    output: { content: [{ type: "image", mimeType: "image/png", data: "iVBORw0KGgo=" }] },
    error: null,
    metadata: emptyMetadata(CALL_ID, TOOL, 0),
  },
  failure(toolError("tool_error", ""), emptyMetadata(CALL_ID, TOOL, 0)),
  { ...failure(toolError("tool_error", "no"), emptyMetadata(CALL_ID, TOOL, 0)), output: "42" },
];

type Message = Pick<Golden, "kind" | "message">;

function read(contract: Contract, { kind, message }: Message): unknown {
  switch (kind) {
    case "tool":
      return contract.readTool(message);
    case "call":
      return contract.readCall(message);
    case "result":
      return contract.readResult(message);
  }
}

function rewrite(contract: Contract, { kind, message }: Message): unknown {
  switch (kind) {
    case "tool":
      return contract.writeTool(contract.readTool(message));
    case "call":
      return contract.writeCall(contract.readCall(message));
    case "result":
      return contract.writeResult(resultOf(contract.readResult(message), TOOL));
  }
}

function keeps(contract: Contract, trip: RoundTrip): void {
  expect(lostInSilence(contract, trip), JSON.stringify([...trip.before])).toEqual([]);
}

function readersOf(contract: Contract | ModuleContract): Record<string, (message: unknown) => unknown> {
  return {
    readTool: (message) => contract.readTool(message),
    readCall: (message) => contract.readCall(message),
    readResult: (message) => contract.readResult(message),
    ...("readModule" in contract
      ? { readModule: (message: unknown) => contract.readModule(message, "module") }
      : undefined),
  };
}

function expectReadOrRefused(contract: Contract, reader: (message: unknown) => unknown, message: unknown): void {
  try {
    reader(message);
  } catch (error) {
    if (!(error instanceof ContractError)) throw error;
    expect(error.contract).toBe(contract.name);
  }
}

function eventsOf(result: ToolResult): readonly ContractEvent[] {
  const { tool, callId: id } = result.metadata;
  return [
    { name: "tool:pre", tool, call: { id, name: tool, arguments: {} } },
    { name: result.success ? "tool:post" : "tool:error", tool, result },
  ];
}

/** Messages that differ from a good one in one place. */
function mutations(message: unknown): fc.Arbitrary<unknown> {
  const places = placesOf(message);
  return fc.tuple(fc.constantFrom(...places), fc.option(json, { nil: undefined })).map(([place, value]) => {
    const changed = structuredClone({ message });
    let inner: Record<string, unknown> = changed;
    for (const key of place.slice(0, -1)) inner = inner[key] as Record<string, unknown>;
    const last = place.at(-1) ?? "message";
    if (value === undefined) delete inner[last];
    else inner[last] = value;
    return changed.message;
  });
}

function placesOf(value: unknown, place: readonly string[] = ["message"]): readonly (readonly string[])[] {
  if (typeof value !== "object" || value === null) return [place];
  return [place, ...Object.entries(value).flatMap(([key, each]) => placesOf(each, [...place, key]))];
}

/** A message as it travels. */
function plain(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value));
}

/** What is told of an outcome besides what the call cost. */
function told(outcome: Outcome): unknown {
  return new Map([...fieldsOfOutcome(outcome)].filter(([name]) => name !== "metadata"));
}

function freeze<Value>(value: Value): Value {
  if (typeof value === "object" && value !== null) {
    for (const each of Object.values(value)) freeze(each);
    Object.freeze(value);
  }
  return value;
}
