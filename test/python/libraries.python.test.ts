import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createEngine, type Engine } from "../../src/glovebox/index.ts";
import { sideModule, type SideModuleParts } from "../kernel/base/wasm/side-modules.ts";
import { newTree } from "../kernel/tool/package/opening.ts";
import { refusalOf } from "../kernel/tool/temporary.ts";
import { buildWheel } from "./build-wheel.ts";
import { TALLY, tallyWheel, WHEEL } from "./tally.ts";

const PYTHON_MS = 120_000;
let engine: Engine;
let wheels: string;

beforeAll(async () => {
  wheels = await mkdtemp(path.join(tmpdir(), "glovebox-wheels-"));
  await writeFile(path.join(wheels, TALLY), buildWheel(tallyWheel()));
  engine = await createEngine({
    workers: 1,
    executor: "threads",
    limits: { cpuMs: 10_000, wallMs: 30_000, memoryMb: 128 },
    packages: { wheels },
  });
}, PYTHON_MS);

afterAll(async () => {
  await engine.close();
  await rm(wheels, { recursive: true });
});

let tools = 0;

/** Registers a package whose tool does `body`, with `requirements`; answers its name. */
async function register(body: string, requirements = "tally", imports = "import tally"): Promise<string> {
  const name = `tool_${++tools}`;
  const lines = body.split("\n").map((line) => `    ${line}`);
  const source = `${imports}\nspec = {"name": "${name}", "description": "A tool."}\ndef execute(data):\n${lines.join("\n")}\n`;
  await engine.register(await newTree({ "code/function.py": source, "code/requirements.txt": requirements }));
  return name;
}

async function outputOf(name: string, args: Record<string, unknown> = {}): Promise<unknown> {
  const { output, error } = await engine.execute({ name, arguments: args });
  expect(error).toBeNull();
  return output;
}

const codeOf = async (name: string, args: Record<string, unknown> = {}): Promise<string | undefined> =>
  (await engine.execute({ name, arguments: args })).error?.code;

test("an extension in C works: functions, buffers, types, exceptions, calls back, and the library that it needs", async () => {
  const name = await register(`import array
try:
    tally.total(b"123")
except ValueError as error:
    said = [type(error).__name__, str(error)]
class More(tally.Counter):
    def twice(self, more):
        return self.add(more).add(more)
return {
    "total": tally.total(array.array("d", [1.5, 2.5])),
    "said": said,
    "type": repr(More().twice(3)),
    "visit": tally.visit(lambda number: number * number, 4),
    "calls": tally.calls(),
}`);
  expect(await outputOf(name)).toEqual({
    total: 4,
    said: ["Error", "3 bytes are no whole number of doubles"],
    type: "Counter(6.0)",
    visit: [0, 1, 4, 9],
    calls: 4,
  });
  // The interpreter goes on, and with it the memory of a library.
  expect(await outputOf(name)).toMatchObject({ calls: 8 });
});

test("what Python calls from C raises through it", async () => {
  const name = await register("return tally.visit(lambda number: 1 / number, 2)");
  expect((await engine.execute({ name, arguments: {} })).error).toMatchObject({ type: "ZeroDivisionError" });
});

test("memory that C takes counts: the call ends at the limit, and the next one works", async () => {
  const name = await register("return tally.hold(data['mebibytes'])");
  expect(await codeOf(name, { mebibytes: 1_000 })).toBe("memory_limit");
  expect(await outputOf(name, { mebibytes: 10 })).toBeNull();
});

test("a tool with more packages than its memory holds is refused, with what to raise", async () => {
  const files = { "large.py": `text = "${randomBytes(3_000_000).toString("hex")}"\n` };
  await writeFile(path.join(wheels, "large-1.0-py3-none-any.whl"), buildWheel({ name: "large", files }));
  await using small = await createEngine({
    workers: 1,
    executor: "threads",
    limits: { memoryMb: 32 },
    packages: { wheels },
  });
  const source = 'spec = {"name": "large", "description": "x"}\ndef execute(data):\n    return 1\n';
  const folder = await newTree({ "code/function.py": source, "code/requirements.txt": "large" });
  const { message } = await refusalOf(small.register(folder));
  expect(message).toContain("there is no memory left for its code and its packages: raise limits.memoryMb");
});

test("an endless loop in C ends at the limit of its time, and the next call works", async () => {
  const name = await register("return tally.spin() if data['spins'] else 1");
  const { error } = await engine.execute({ name, arguments: { spins: true } }, { limits: { cpuMs: 500 } });
  expect(error?.code).toBe("cpu_limit");
  expect(await outputOf(name, { spins: false })).toBe(1);
});

test("a wild write in C is its call's error, and the next call works", async () => {
  const name = await register("return tally.crash() if data['crashes'] else 1");
  const { error } = await engine.execute({ name, arguments: { crashes: true } });
  expect(error).toMatchObject({ code: "tool_error", message: expect.stringContaining("memory access out of bounds") });
  expect(await outputOf(name, { crashes: false })).toBe(1);
});

test("a tool cannot load what is not in its wheels", async () => {
  const name = await register(`import importlib.util, shutil
with open("/tmp/evil.so", "wb") as file:
    file.write(bytes(data["code"]))
spec = importlib.util.spec_from_file_location("evil", "/tmp/evil.so")
try:
    importlib.util.module_from_spec(spec)
except ImportError as error:
    return str(error)`);
  const code = [...sideModule({ exports: ["PyInit_evil"] })];
  expect(await outputOf(name, { code })).toContain("WebAssembly is not available");
  expect(await outputOf(name, { code: [] })).toContain("only libraries of the tool's wheels can be loaded");
});

/** Puts a package into the folder whose one module is this library. */
async function put(name: string, parts: SideModuleParts): Promise<void> {
  const library = sideModule({ ...parts, exports: [`PyInit__${name}`] });
  const files = { [`${name}/__init__.py`]: `from . import _${name}\n`, [`${name}/_${name}.so`]: library };
  const file = `${name}-1.0-cp312-abi3-pyemscripten_2026_0_wasm32.whl`;
  await writeFile(path.join(wheels, file), buildWheel({ name, files, wheel: WHEEL }));
}

test("a function that is nowhere ends the call that calls it, by its name, and the next call works", async () => {
  await put("calling", { calls: "nowhere" });
  const name = await register("if data['calls']:\n    import calling\nreturn 1", "calling", "");
  expect((await engine.execute({ name, arguments: { calls: true } })).error).toMatchObject({
    code: "tool_error",
    message: expect.stringContaining("cannot resolve symbol nowhere"),
  });
  expect(await outputOf(name, { calls: false })).toBe(1);
});

test("a library may take the address of a function that is JavaScript's", async () => {
  await put("pointing", { functions: ["exit"] });
  const body = "try:\n    import pointing\nexcept SystemError as error:\n    return str(error)";
  // It is linked; what Python misses is the module that it should have made.
  expect(await outputOf(await register(body, "pointing", ""))).toContain(
    "_pointing failed without raising an exception",
  );
});

test("a tool with libraries has no more of WebAssembly than to load them", async () => {
  const tried = [
    "m.wasmTable.grow(10_000_000)",
    "Object.hasOwn(Object.getPrototypeOf(m.wasmTable), 'constructor')",
    `typeof m.wasmTable.get(1).constructor('return typeof WebAssembly === "undefined" ? undefined : WebAssembly')()`,
    "Array.from({ length: 2_000 }, (_, n) => m.addFunction((x) => x + n, 'ii')).length",
  ];
  const script = `const m = this; return [${tried.map((one) => `() => ${one}`).join(", ")}].map((one) => { try { return String(one()); } catch (error) { return error.name; } }).join()`;
  const body = `import pyodide_js\nreturn pyodide_js.runPython.constructor(${JSON.stringify(script)}).call(pyodide_js._module)`;
  expect(await outputOf(await register(body))).toBe("RangeError,false,undefined,TypeError");
});

test("a library that imports a value that is nowhere is an ImportError, and others load after it", async () => {
  await put("broken", { addresses: ["nowhere"] });
  const body = `for _ in range(2):
    try:
        import broken
    except ImportError as error:
        said = str(error)
import tally
return [said, tally.calls()]`;
  const name = await register(body, "broken\ntally", "");
  expect(await outputOf(name)).toEqual([expect.stringContaining("undefined symbol 'nowhere'"), 0]);
  // At the module's level it is the registration's error, and nothing is registered.
  const refused = await refusalOf(register("return 1", "broken", "import broken"));
  expect(refused).toMatchObject({ code: "load_error", message: expect.stringContaining("undefined symbol 'nowhere'") });
  expect(engine.get(`tool_${tools}`)).toBeUndefined();
});
