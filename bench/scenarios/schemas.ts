import { mkdtemp, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { call, openEngine, sumOf } from "../engines.ts";
import { measure, type Subject } from "../sampling.ts";
import type { Scenario } from "../scenario.ts";
import { addArguments, expectedSum } from "../tools.ts";

const PLAIN = "glovebox, defineTool without a schema";

const VALIBOT =
  'import * as v from "valibot";\nimport { toStandardJsonSchema } from "@valibot/to-json-schema";\n' +
  "const Input = toStandardJsonSchema(v.object({ a: v.number(), b: v.number() }));\n";

/** Tools that add, by the schema of their arguments: what their modules import, and their `inputSchema`. */
const TOOLS = [
  [PLAIN, "add_plain", "", ""],
  [
    "glovebox, defineTool with a JSON Schema",
    "add_json",
    "",
    'inputSchema: { type: "object", properties: { a: { type: "number" }, b: { type: "number" } }, required: ["a", "b"] },',
  ],
  [
    "glovebox, defineTool with zod",
    "add_zod",
    'import { z } from "zod";\n',
    "inputSchema: z.object({ a: z.number(), b: z.number() }),",
  ],
  ["glovebox, defineTool with Valibot", "add_valibot", VALIBOT, "inputSchema: Input,"],
  [
    "glovebox, defineTool with a refine of zod",
    "add_refine",
    'import { z } from "zod";\n',
    "inputSchema: z.object({ a: z.number(), b: z.number().refine((b) => b === 1) }),",
  ],
] as const;

/** What the schema library of a tool costs its calls: nothing where the JSON Schema says all. */
export const schemas: Scenario = {
  name: "schemas",
  description: "a tool of defineTool that adds, by the library of its schema, against one without a schema",
  smoke: { states: ["quiet"], rounds: 1, sampleMs: 20 },
  full: { states: ["quiet", "busy"], rounds: 7, sampleMs: 300 },
  async run(context) {
    // Below the repository, so that the modules find its packages.
    const folder = await mkdtemp(path.join(fileURLToPath(new URL("..", import.meta.url)), ".schemas-"));
    try {
      await using engine = await openEngine("process");
      const subjects: Subject[] = [];
      for (const [name, tool, imports, input] of TOOLS) {
        const file = path.join(folder, `${tool}.js`);
        await writeFile(
          file,
          `import { defineTool } from "glovebox/tool";\n${imports}` +
            `export default defineTool({ name: "${tool}", description: "Adds two numbers.", ${input} run: ({ a, b }) => ({ sum: a + b }) });\n`,
        );
        await engine.register(file);
        subjects.push({
          name,
          against: name === PLAIN ? [] : [PLAIN],
          run: async (index) => sumOf(await call(engine, tool, addArguments(index))),
        });
      }
      return await measure(context, {
        subjects,
        expected: expectedSum,
        latency: { name: "latency_us", unit: "us" },
        concurrencies: [1],
        cpuConcurrency: 1,
      });
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
};
