import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Validation, validateModules } from "../../../src/testing/validation/index.ts";
import type { Engine } from "../../../src/glovebox/index.ts";
import { temporaryFolder } from "../../kernel/tool/temporary.ts";
import { MODULES, openEngine } from "../../contrib/amplifier/modules.ts";

let engine: Engine;

beforeAll(async () => {
  engine = await openEngine();
});
afterAll(() => engine.close());

const MOUNT = readFileSync(join(MODULES, "python/mount.py"), "utf8");
const EVENTS = `
def register(coordinator):
    coordinator.register_contributor("observability.events", "made", lambda: ["made:started"])
`;

/** A module with the document's own `mount`, but for what is changed. */
function made({ mount = MOUNT, execute = `print("working"); return ToolResult(output=input["text"])` } = {}): string {
  return `
from amplifier_core.models import ToolResult

class MyTool:
    name = "made"
    description = "Does something, and expects a text."
    input_schema = {
        "type": "object",
        "properties": {"text": {"type": "string", "description": "What to do."}},
        "required": ["text"],
    }
    def __init__(self, config): self.config = config
    async def execute(self, input):
        ${execute}

def cleanup_function(): pass
${EVENTS}
${mount.replace("    tool = ", "    register(coordinator)\n    tool = ")}
`;
}

async function validate(files: Record<string, string>): Promise<readonly Validation[]> {
  return validateModules(engine, await temporaryFolder(files));
}

async function problems(text: string): Promise<string[]> {
  const [validation] = await validate({ "made.py": text });
  return (validation?.checks ?? [])
    .filter(({ level }) => level === "error" || level === "warning")
    .map(({ level, about, message }) => `${level} ${about}: ${message}`);
}

describe("a module of Amplifier's in Python", () => {
  test.each(["bash", "read_file"])("is valid where it is the document's own: %s", async (name) => {
    const [validation] = await validateModules(engine, join(MODULES, `python/${name}.py`));
    expect(validation?.contract).toBe("amplifier");
    expect(validation?.checks.filter(({ level }) => level === "error")).toEqual([]);
    expect(validation?.checks.map(({ about }) => about)).toContain("execute");
  });

  test("is valid with the document's mount, whether or not a package.json names it", async () => {
    expect(await problems(made())).toEqual([]);
    const folder = await temporaryFolder({ "package.json": "{}", "made.py": made() });
    const [validation] = await validateModules(engine, join(folder, "made.py"));
    expect(validation?.checks.filter(({ level }) => level === "error")).toEqual([]);
    expect(validation?.checks).toContainEqual({
      level: "info",
      about: "entry point",
      message: "is in no pyproject.toml, so it is found by its path only",
    });
  });

  test("has to mount asynchronously, with two parameters", async () => {
    const sync = "def mount(coordinator, config):\n    tool = MyTool(config)\n    return tool";
    expect(await problems(made({ mount: sync }))).toEqual([
      "error mount: is not async; write async def mount(coordinator, config=None)",
    ]);
    const three = MOUNT.replace("config=None", "config=None, more=None");
    expect(await problems(made({ mount: three }))).toEqual([]);
    const one = "async def mount(coordinator, *, config=None):\n    return None";
    expect(await problems(made({ mount: one }))).toEqual([expect.stringMatching(/^error load: .*positional argument/)]);
    const rest = "async def mount(*both):\n    return MyTool(both[1])";
    expect(await problems(made({ mount: rest }))).toEqual([expect.stringMatching(/^warning events/)]);
  });

  test("has to return a tool, a function for the end, or nothing", async () => {
    const problem = "error mount: returns neither a tool, nor a function for the end, nor null";
    expect(await problems(made({ mount: "async def mount(coordinator, config):\n    return 5" }))).toContain(problem);
  });

  test("has to return failures, not raise them, and to return a ToolResult", async () => {
    expect(await problems(made({ execute: `print("working"); raise ValueError("no text")` }))).toEqual([
      'error execute: given input that fits, throws: ValueError: no text; it must return ToolResult(success=False, error={"message": …, "type": …})',
    ]);
    expect(await problems(made({ execute: `print("working"); return "just a text"` }))).toEqual([
      expect.stringMatching(/^error execute: given input that fits, throws: .*ToolResult/),
    ]);
  });

  test("has to load", async () => {
    expect(await problems(MOUNT)).toEqual([expect.stringMatching(/^error load: .*'MyTool' is not defined/)]);
  });
});
