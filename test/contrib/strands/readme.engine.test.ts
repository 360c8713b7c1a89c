import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { load_spec, run_chain, scriptedProvider, ToolRegistry } from "../../../src/contrib/strands/index.ts";
import { EXIT } from "../../../src/cli/exit.ts";
import { createEngine } from "../../../src/glovebox/index.ts";
import { Folder } from "./folder.ts";

const HERE = fileURLToPath(new URL("../../../src/contrib/strands", import.meta.url));
const README = readFileSync(join(HERE, "README.md"), "utf8");

/** The first block of code in a language, behind a headline. */
function block(headline: string, language: string): string {
  const section = README.slice(README.indexOf(`\n## ${headline}\n`));
  return new RegExp(`\`\`\`${language}[^\\n]*\\n(.*?)\`\`\``, "s").exec(section)?.[1] ?? "";
}

test("the guide has all of the document's sections [D78]", () => {
  const titles = [...README.matchAll(/^## (.*)$/gm)].map(([, title]) => title);
  expect(titles).toEqual([
    "Architecture",
    "Your first tool: echo",
    "TOOL_SPEC",
    "Results",
    "Running code: js_exec",
    "Testing your tool",
    "Workflows",
    "The registry",
  ]);
});

test("the guide shows where every file of the folder is [D78]", () => {
  const files = readdirSync(HERE).filter((name) => name.endsWith(".ts"));
  expect(files.filter((name) => !README.includes(name))).toEqual([]);
});

test("the guide's tool and workflow run as they stand [D78]", async () => {
  using folder = new Folder({
    "tools/echo.js": block("Your first tool: echo", "js"),
    "tools/calculator.js": 'export const TOOL_SPEC = { name: "calculator" }; export const calculator = () => null;',
    "echo-demo.yaml": block("Workflows", "yaml"),
  });
  await using engine = await createEngine({ workers: 1, executor: "threads" });
  const registry = await ToolRegistry.discover({ engine, tools: folder.at("tools") });
  const spec = await load_spec(folder.at("echo-demo.yaml"));
  const provider = scriptedProvider([
    (messages) => ({ calls: [{ name: "echo", arguments: { message: messages.at(-1)?.role } }] }),
    (messages) => {
      const last = messages.at(-1);
      return last?.role === "tool" ? String(last.result.output) : "";
    },
  ]);
  const variables = { message: "Hello, World!" };
  const { last_response } = await run_chain(spec, variables, { registry, provider, folder: folder.path });
  expect(last_response).toBe("user");
  expect(provider.requests[0]?.messages.at(-1)).toEqual({ role: "user", text: "Echo this message: Hello, World!" });
  expect(readFileSync(folder.at("echo-result.txt"), "utf8")).toBe("user");
});

test("the guide has the exit codes that there are [D73 D78]", () => {
  const codes = [...README.matchAll(/^\| (\d+) +\|/gm)].map(([, code]) => Number(code));
  const { OK, USAGE, INVALID, RUNTIME, IO, UNSUPPORTED, UNEXPECTED } = EXIT;
  expect(codes).toEqual([OK, USAGE, INVALID, RUNTIME, IO, UNSUPPORTED, UNEXPECTED]);
  expect(codes).toEqual([0, 2, 3, 10, 12, 18, 70]);
});
