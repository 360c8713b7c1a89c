import { expect, test } from "vitest";
import { temporaryFolder } from "../kernel/tool/temporary.ts";
import { glovebox } from "./command.ts";

const TOOL = `export const spec = { name: "greet", description: "Greets.", examples: [{ input: {}, output: 1 }] };
export default () => { console.log("now"); return 1; };`;
const PROGRAM = "return await tools.greet({});";

/**
 * Commands that print data, and need neither a server nor a network. `agentspace`, `calls`, `connectors`, `plan`, `policy`,
 * `python`, `snippets` and `top` have tests of their own.
 */
const COMMANDS = [
  "bench --ms 10 --json",
  "code program.ts --json",
  "config check --json",
  "config names --json",
  "config print --json",
  "docs --json",
  "explain --json",
  "explain greet --json",
  "explain queue_full --json",
  "explain greet --yaml --json",
  "keys new --json",
  "list --json",
  "list-supported --json",
  "module validate tools/greet.js --json",
  "new project --json",
  "redis acl --json",
  "replay recording.json --json",
  "run greet --json",
  "test --json",
  "types --json",
  "types --out tools.d.ts --json",
  "validate tools/greet.js --json",
  "version --json",
];

test("--json prints one document of JSON on stdout", async () => {
  const folder = await temporaryFolder({
    "glovebox.config.yaml": "tools: [./tools]\n",
    "tools/greet.js": TOOL,
    "program.ts": PROGRAM,
  });
  await glovebox(folder, ["run", "greet", "--record", "recording.json"]);
  for (let at = 0; at < COMMANDS.length; at += 3) {
    const some = COMMANDS.slice(at, at + 3);
    const ended = await Promise.all(some.map((line) => glovebox(folder, line.split(" "))));
    const parsed = ended.map(({ code, stdout }, nth) => [some[nth], code, typeof JSON.parse(stdout)]);
    expect(parsed).toEqual(some.map((line) => [line, 0, "object"]));
  }
});
