import { SourceMap } from "node:module";
import { performance } from "node:perf_hooks";
import vm from "node:vm";
import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { SCRIPT_EXPORTS } from "../../../../src/kernel/base/protocol/script.ts";
import { bundleModule, stopBundler } from "../../../../src/kernel/tool/bundle/bundle.ts";
import { findSources, readSourceMap, writeSourceMap } from "../../../../src/kernel/tool/bundle/source-map.ts";
import { cutTraceback, mapStack, stackMapper } from "../../../../src/kernel/tool/bundle/stack.ts";

afterAll(stopBundler);

const SOURCE = `type Input = { n: number };

function fail(input: Input): never {
  throw new RangeError(\`bad \${input.n}\`);
}

export default (input: Input) => fail(input);
`;

const map = JSON.stringify({ version: 3, sources: ["add.ts"], names: [], mappings: "AAAA;AACA;AACA" });

describe("a stack of a bundled tool", () => {
  test("points at the lines of its sources, and at nothing else", async () => {
    const bundle = await bundleModule({ kind: "text", text: SOURCE, name: "add" });
    const wrapped = `(function () { "use strict";\n${bundle.text}\nreturn ${SCRIPT_EXPORTS}; })`;
    const make = vm.runInNewContext(wrapped, {}, { filename: "tool:add", lineOffset: -1 }) as () => {
      default: (input: unknown) => void;
    };
    let stack = "";
    try {
      make().default({ n: 7 });
    } catch (error) {
      stack = String(Reflect.get(error as object, "stack"));
    }
    expect(stack).toContain("stack.test.ts");
    expect(mapStack(stack, bundle.sourceMap, "tool:add")).toBe(
      ["RangeError: bad 7", "    at fail (add.ts:4:9)", "    at add_default (add.ts:7:34)"].join("\n"),
    );
  });

  test("keeps the message's lines", () => {
    const stack = "Error: one\ntwo\n    at f (tool:add:1:1)";
    expect(mapStack(stack, map, "tool:add")).toBe("Error: one\ntwo\n    at f (add.ts:1:1)");
  });

  test("loses the engine's and the host's frames", () => {
    const frames = [
      "    at glovebox:prelude:3:4",
      "    at f (/srv/app/node_modules/x/index.js:1:2)",
      "    at (<isolated-vm boundary>)",
      "    at Array.map (<anonymous>)",
      "    at native",
      "    at file:///srv/app/dist/worker.js:1:1",
      "    at tool:adder:1:1",
      "    at async Class.method (tool:add:2:1)",
      "    at tool:add:3:1",
    ];
    expect(mapStack(`Error: x\n${frames.join("\n")}`, map, "tool:add")).toBe(
      "Error: x\n    at async Class.method (add.ts:2:1)\n    at add.ts:3:1",
    );
  });

  test("keeps ten frames and four kilobytes", () => {
    const frames = Array(100).fill("    at f (tool:add:1:1)").join("\n");
    const mapped = mapStack(`Error: ${"x".repeat(5_000)}\n${frames}`, map, "tool:add");
    expect(mapped.split("\n")).toHaveLength(11);
    expect(mapped.length).toBeLessThanOrEqual(4_096);
  });

  test("without a usable map keeps the script's own lines", () => {
    expect(mapStack("E\n    at f (tool:add:12:5)", "no map", "tool:add")).toBe("E\n    at f (tool.js:12:5)");
    expect(readSourceMap("x")).toBeUndefined();
    expect(readSourceMap("null")).toBeUndefined();
    expect(readSourceMap(`"${"x".repeat(5 * 1024 * 1024)}"`)).toBeUndefined();
  });

  test("shows no function name that is a path, and no source outside of the tool", () => {
    expect(mapStack("E\n    at /etc/passwd (tool:add:1:1)", map, "tool:add")).toBe("E\n    at add.ts:1:1");
    for (const source of ["/home/me/add.ts", "../../home/add.ts", "file:///home/add.ts", "C:\\home\\add.ts"]) {
      const outside = JSON.stringify({ version: 3, sources: [source], names: [], mappings: "AAAA" });
      expect(mapStack("E\n    at f (tool:add:1:1)", outside, "tool:add")).toBe("E\n    at f (add.ts:1:1)");
    }
  });

  test("is cheap, however large and strange", () => {
    const start = performance.now();
    for (const part of ["    at ", "\n", " ", "at (tool:add:", "(((", "\u0000", "tool:add:1:1)\n    at "]) {
      mapStack(part.repeat(10_000_000 / part.length), map, "tool:add");
    }
    // Work without a bound takes minutes.
    expect(performance.now() - start).toBeLessThan(30_000);
  });
});

describe("a source map", () => {
  test("tells of every position what Node tells of it", async () => {
    const { text, sourceMap } = await bundleModule({ kind: "text", text: SOURCE, name: "add" });
    const oracle = new SourceMap(JSON.parse(sourceMap));
    const map = readSourceMap(sourceMap);
    if (map === undefined) throw new Error("no map");
    const positions = text
      .split("\n")
      .flatMap((content, line) => Array.from({ length: content.length + 2 }, (_, column) => ({ line, column })));
    const expected = positions.map(({ line, column }) => {
      const entry = oracle.findEntry(line, column);
      if (!("originalSource" in entry)) return undefined;
      return { source: entry.originalSource, line: entry.originalLine, column: entry.originalColumn };
    });
    expect(findSources(map, positions)).toEqual(expected);
    expect(findSources(map, positions.toReversed())).toEqual(expected.toReversed());
  });

  test("with marks tells the same as without, wherever a position is", () => {
    const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const small = fc.integer({ min: 0, max: 31 }).map((value) => digits[value]);
    const mapping = fc.oneof(
      fc.tuple(small),
      fc.tuple(small, fc.constantFrom("A", "A", "C", "D"), small, small),
      fc.tuple(small, fc.constant("A"), small, small, small),
    );
    const line = fc
      .array(
        mapping.map((fields) => fields.join("")),
        { maxLength: 40 },
      )
      .map((all) => all.join(","));
    const position = fc.record({ line: fc.nat(600), column: fc.nat(300) });
    const lines = fc.array(line, { minLength: 1, maxLength: 12 }).map((all) => Array(50).fill(all).flat().join(";"));
    fc.assert(
      fc.property(lines, fc.array(position, { maxLength: 12 }), (mappings, positions) => {
        const marked = readSourceMap(writeSourceMap(["a.ts", "b.ts"], mappings));
        if (marked === undefined) throw new Error("no map");
        expect(findSources(marked, positions)).toEqual(findSources({ ...marked, marks: [] }, positions));
        const plain = readSourceMap(JSON.stringify({ sources: marked.sources, mappings }));
        expect(plain?.marks).toEqual(marked.marks);
      }),
    );
  });

  test("that is too large is left out, and the stack says so", () => {
    expect(writeSourceMap(["add.ts"], "AAAA;".repeat(1_000_000))).toBe("");
    expect(stackMapper("add", { sourceMap: "", runtime: "javascript" })("Error: x\n    at f (tool:add:1:1)")).toBe(
      "Error: x\n    at f (tool.js:1:1)\n    (lines of the bundle, because it has no source map of up to 4194304 characters)",
    );
    expect(stackMapper("add", { sourceMap: "", runtime: "javascript" })("Error: x")).toBe("Error: x");
    expect(stackMapper("add", { sourceMap: "", runtime: "wasi" })("Error: x\n    at f (tool:add:1:1)")).toBe(
      "Error: x\n    at f (tool.js:1:1)",
    );
  });

  // The parsed form had fifty times the size and was kept: forty large tools that had failed once filled the heap.
  test("is read without a list of its mappings, however many there are", () => {
    const mappings = `AAAA${",CAAC".repeat(500_000)}`;
    const json = JSON.stringify({ version: 3, sources: ["add.ts"], names: [], mappings });
    const before = process.memoryUsage().heapUsed;
    const mapped = stackMapper("add", { sourceMap: json, runtime: "javascript" })(
      "Error: x\n    at f (tool:add:1:400001)",
    );
    const grownMb = (process.memoryUsage().heapUsed - before) / 2 ** 20;
    expect(mapped).toBe("Error: x\n    at f (add.ts:1:400001)");
    expect(grownMb).toBeLessThan(25);
  });
});

test("no stack throws, and no frame shows an absolute path", () => {
  const part = fc.oneof(
    fc.string(),
    fc.string({ unit: "binary" }),
    fc.constantFrom(
      "\n    at ",
      "tool:add:",
      "1:1",
      "(",
      ")",
      "/home/me/x.ts:1:1",
      "/etc/passwd ",
      "file:///a",
      " at ",
      "\n",
    ),
  );
  const stack = fc.array(part, { maxLength: 30 }).map((parts) => parts.join(""));
  const anyMap = fc.oneof(
    fc.constant(map),
    fc.string(),
    fc.json(),
    fc
      .array(fc.string())
      .map((sources) => JSON.stringify({ version: 3, sources, names: [], mappings: "AAAA;ACAA;ACAA" })),
  );
  fc.assert(
    fc.property(stack, anyMap, (text, mapText) => {
      const mapped = mapStack(`Error\n    at f (tool:add:1:1)\n${text}`, mapText, "tool:add");
      expect(mapped.length).toBeLessThanOrEqual(4_096);
      const frames = mapped.split("\n").slice(1);
      for (const frame of frames)
        expect(frame).toMatch(/^ {4}at (?:[^/\\]+ \()?[^/\\].*:\d+:\d+\)?$|^ {4}at (?:[^/\\]+ \()?:\d+:\d+\)?$/);
    }),
    { numRuns: 1_000 },
  );
});

describe("a traceback of Python's", () => {
  const traceback = [
    "Traceback (most recent call last):",
    '  File "/tool/function.py", line 3, in execute',
    "    at = data.get(name)",
    '  File "/tool/deep/sibling.py", line 12, in get',
    "ValueError: not a number",
  ].join("\n");

  test("is kept as it is, whatever its lines begin with", () => {
    expect(stackMapper("add", { sourceMap: "", runtime: "python", isInterpreted: true })(traceback)).toBe(traceback);
  });

  test("that is too long keeps its first line and its last ones, whole", () => {
    const frames = Array.from({ length: 500 }, (_, at) => `  File "/tool/function.py", line ${at}, in f`);
    const cut = cutTraceback(["Traceback (most recent call last):", ...frames, "RecursionError: deep"].join("\n"));
    const [first, second, ...rest] = cut.split("\n");
    expect([first, second]).toEqual(["Traceback (most recent call last):", "  …"]);
    expect(rest.slice(0, -1).every((line) => frames.includes(line))).toBe(true);
    expect(rest.slice(-2)).toEqual([frames.at(-1), "RecursionError: deep"]);
    expect(cut.length).toBeLessThanOrEqual(4096);
  });

  test("is short, whatever it is", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 200 }), fc.nat(100_000), (line, times) => {
        const text = `${line}\n`.repeat(Math.min(times, Math.ceil(200_000 / (line.length + 1))));
        expect(cutTraceback(text).length).toBeLessThanOrEqual(4096);
      }),
      { numRuns: 50 },
    );
    expect(cutTraceback("x".repeat(1_000_000)).length).toBeLessThanOrEqual(4096);
  });
});
