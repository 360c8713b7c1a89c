import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { mountPlan } from "../../../src/contrib/amplifier/index.ts";
import { validateModules } from "../../../src/testing/validation/index.ts";
import type { Engine } from "../../../src/glovebox/index.ts";
import { component } from "../../kernel/base/wasm/wasm.ts";
import { buildZip } from "../../kernel/tool/package/build-zip.ts";
import { refusalOf, temporaryFolder } from "../../kernel/tool/temporary.ts";
import { openEngine } from "./modules.ts";

/** A tool of the kernel's newer contract: a component of WebAssembly. Only its exports matter here. */
const TOOL = Buffer.from(component("amplifier:modules/tool@1.0.0"));
const REASON =
  'is an Amplifier tool as a component (it exports "amplifier:modules/tool@1.0.0"), and components do not run here: build it as a WASI command for wasm32-wasip1, or write it in JavaScript or Python with mount(coordinator, config)';

let engine: Engine;
let folder: string;

beforeAll(async () => {
  engine = await openEngine();
});
afterAll(() => engine.close());

/** Where a component may be given: its paths in a folder. */
async function places(bytes: Buffer): Promise<Record<"file" | "folder" | "package" | "archive", string>> {
  folder = await temporaryFolder({});
  const at = (name: string): string => join(folder, name);
  await mkdir(at("plain"));
  await mkdir(at("packed/code"), { recursive: true });
  await writeFile(at("plain/calculator.wasm"), bytes);
  await writeFile(at("packed/code/calculator"), bytes);
  await writeFile(at("calculator.zip"), buildZip([{ name: "code/calculator", data: bytes }]));
  return {
    file: at("plain/calculator.wasm"),
    folder: at("plain"),
    package: at("packed"),
    archive: at("calculator.zip"),
  };
}

describe("a tool that is a component is refused, with the reason and what to do", () => {
  test.each(["file", "folder", "package", "archive"] as const)(
    "given as a %s, and nothing is registered",
    async (place) => {
      const path = (await places(TOOL))[place];
      const { code, message } = await refusalOf(engine.register(path));
      expect(code).toBe("load_error");
      expect(message).toContain(REASON);
      expect(engine.list()).toEqual([]);

      const [validation, ...others] = await validateModules(engine, path);
      expect(others).toEqual([]);
      const errors = validation?.checks.filter(({ level }) => level === "error");
      expect(errors).toMatchObject([{ message: expect.stringContaining(REASON) }]);
    },
  );

  test("given as a text, and as a module of a mount plan", async () => {
    const given = { name: "calculator", description: "d", runtime: "wasi", source: TOOL.toString("base64") } as const;
    expect((await refusalOf(engine.register(given))).message).toContain(REASON);
    const { folder: source } = await places(TOOL);
    const mounted = await mountPlan(engine, { tools: [{ module: "calculator", source }] }, { folder });
    expect(mounted).toMatchObject([
      { state: "failed", tools: [], error: { message: expect.stringContaining(REASON) } },
    ]);
    expect(engine.list()).toEqual([]);
  });
});

test.each([
  ["amplifier:modules/hook-handler@1.0.0", "which is no tool; name a component that exports amplifier:modules/tool"],
  ["wasi:cli/run@0.2.0", "and only modules of WASI preview 1 run here"],
])("a component that exports %s is refused as such", async (name, reason) => {
  const { file } = await places(Buffer.from(component(name)));
  expect((await refusalOf(engine.register(file))).message).toContain(reason);
});

describe("a mount plan", () => {
  test("with a module that nobody knows says so, and its other modules are mounted [A35]", async () => {
    const more = await temporaryFolder({
      "known.js":
        'export async function mount(coordinator) { await coordinator.mount("tools", { name: "known", description: "A known tool.", execute: async () => ({}) }, { name: "known" }); }',
    });
    const plan = { tools: [{ module: "nobody-knows" }, { module: "known", source: "./known.js" }] };
    const [unknown, known] = await mountPlan(engine, plan, { folder: more });
    expect(unknown).toMatchObject({
      state: "failed",
      tools: [],
      error: { name: "ModuleSourceError", reason: "not_found" },
    });
    expect(unknown?.error?.message).toContain('module "nobody-knows" has no source, and no package names it; add');
    expect(known).toMatchObject({ state: "mounted", tools: ["known"] });
    expect(engine.list().map(({ name }) => name)).toEqual(["known"]);
  });
});
