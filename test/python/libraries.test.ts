import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { install, type Installation } from "../../src/python/runtime/installation.ts";
import { checkLibraries } from "../../src/python/runtime/libraries.ts";
import { parseRequirements } from "../../src/python/runtime/requirements.ts";
import { scriptText } from "../../src/python/runtime/script.ts";
import { Wheels } from "../../src/python/runtime/wheels.ts";
import { sideModule } from "../kernel/base/wasm/side-modules.ts";
import { buildZip } from "../kernel/tool/package/build-zip.ts";
import { newTree } from "../kernel/tool/package/opening.ts";
import { buildWheel } from "./build-wheel.ts";
import { problemOf } from "./refusal.ts";
import { counting, TALLY, tallyWheel, WHEEL } from "./tally.ts";

const MAX_BYTES = 64 * 1024 * 1024;

async function installed(files: Readonly<Record<string, string | Buffer>>, text = "tally"): Promise<Installation> {
  return install(parseRequirements(text), new Wheels(await newTree(files), MAX_BYTES));
}

/** A wheel of a package `fast` with these libraries. */
const fast = (files: Readonly<Record<string, Buffer>>): Record<string, Buffer> => ({
  "fast-1.0-cp312-abi3-pyemscripten_2026_0_wasm32.whl": buildWheel({ name: "fast", files, wheel: WHEEL }),
});

const sha256 = (bytes: Buffer): string => createHash("sha256").update(bytes).digest("hex");

interface Entry {
  readonly file_name: unknown;
  readonly sha256: string;
  readonly depends?: readonly string[];
  readonly package_type?: string;
}

/** The lock of a folder, in which all is right but what is said. */
const lockOf = (packages: Readonly<Record<string, Entry>>, info: object = {}): string =>
  JSON.stringify({
    info: { abi_version: "2026_0", arch: "wasm32", platform: "emscripten_5_0_3", python: "3.14.2", ...info },
    packages: Object.fromEntries(
      Object.entries(packages).map(([name, entry]) => [
        name,
        { version: "1.0", depends: [], imports: [name], ...entry },
      ]),
    ),
  });

const whole = buildWheel(tallyWheel());
const bare = buildWheel(tallyWheel(false));
const shared = buildZip([{ name: "counting.so", data: counting }]);

describe("a wheel for WebAssembly", () => {
  test("gives its files, and its machine code beside them", async () => {
    const { packages, libraries } = await installed({ [TALLY]: whole });
    expect([...libraries.keys()]).toEqual(["tally/_tally.abi3.so", "tally.libs/counting.so"]);
    expect(Object.keys(packages)).toContain("tally/__init__.py");
    expect(Object.keys(packages)).not.toContain("tally/_tally.abi3.so");
  });

  test("follows its tool's script as lines of Base64", async () => {
    const { packages, libraries } = await installed({ [TALLY]: whole });
    const script = { entry: "function.py", files: { "function.py": "" }, packages };
    const [text = "", ...codes] = scriptText(script, libraries).split("\n");
    expect(JSON.parse(text)).toEqual({ ...script, libraries: [...libraries.keys()] });
    expect(codes[1]).toBe(counting.toString("base64"));
  });

  test.each([
    ["is ASCII where few of its characters are not", `# ${"x".repeat(1_000)} é 🧪\n`, true],
    ["stays as it is where many are not", "# ééééé\n", false],
  ])("has a tool's text that %s", async (_how, source, isNarrow) => {
    const { packages, libraries } = await installed({ [TALLY]: whole });
    const script = { entry: "function.py", files: { "function.py": source.repeat(100) }, packages };
    const [text = ""] = scriptText(script, libraries).split("\n");
    expect(Buffer.byteLength(text) === text.length).toBe(isNarrow);
    expect(JSON.parse(text)).toMatchObject(script);
  });

  test("is preferred to a pure one of the same version, and a later pure one to it", async () => {
    const pure = (version: string): Buffer =>
      buildWheel({ name: "tally", version, files: { "tally/__init__.py": "" } });
    const same = await installed({ [TALLY]: whole, "tally-1.0-py3-none-any.whl": pure("1.0") });
    expect(same.libraries.size).toBe(2);
    const later = await installed({ [TALLY]: whole, "tally-1.1-py3-none-any.whl": pure("1.1") });
    expect(later.libraries.size).toBe(0);
  });

  test.each<[string, Readonly<Record<string, Buffer>>, string]>([
    [
      "of another platform, though its name says otherwise",
      { "fast.so": Buffer.from("\u007fELF") },
      "no WebAssembly module",
    ],
    ["that takes a huge memory", { "fast.so": sideModule({ memory: 2 ** 31 }) }, "takes 2147483648 bytes of memory"],
    ["that needs what nobody has", { "fast.so": sideModule({ needs: ["libm.so"] }) }, 'the library "libm.so"'],
    ["that needs itself", { "fast.so": sideModule({ needs: ["fast.so"] }) }, "need each other"],
    [
      "of libraries that need each other",
      { "a.so": sideModule({ needs: ["b.so"] }), "b.so": sideModule({ needs: ["a.so"] }) },
      "need each other",
    ],
  ])("with code %s is refused", async (_what, files, expected) => {
    expect(await problemOf(async () => installed(fast(files), "fast"))).toContain(expected);
  });

  test("that says it is pure and has machine code is refused", async () => {
    const wheel = buildWheel({ name: "fast", files: { "fast.so": sideModule() } });
    const said = await problemOf(() => installed({ "fast-1.0-py3-none-any.whl": wheel }, "fast"));
    expect(said).toContain('compiled code ("fast.so"), and its name says that it is pure Python');
  });

  test("has at most 32 MiB of machine code, with all others of its tool", async () => {
    const library = { needs: [], bytes: new Uint8Array(17 * 1024 * 1024) };
    const some = new Map([["a.so", library]]);
    checkLibraries(some);
    const said = await problemOf(() => checkLibraries(new Map([...some, ["b.so", library]])));
    expect(said).toContain("is 35651584 bytes, more than 33554432");
  });

  test("may need a package that needs it: both are installed, as pip does", async () => {
    const two = buildWheel({ name: "two", files: { "two.py": "" }, metadata: ["Requires-Dist: one"] });
    const one = buildWheel({ name: "one", files: { "one.py": "" }, metadata: ["Requires-Dist: two"] });
    const { packages } = await installed({ "one-1.0-py3-none-any.whl": one, "two-1.0-py3-none-any.whl": two }, "one");
    expect(Object.keys(packages)).toEqual(expect.arrayContaining(["one.py", "two.py"]));
  });
});

describe("a folder with a lock of Pyodide's", () => {
  const locked = (change: Partial<Entry> = {}): string =>
    lockOf({
      tally: { file_name: TALLY, sha256: sha256(bare), depends: ["Counting_lib"], ...change },
      "counting-lib": { file_name: "counting-1.0.zip", sha256: sha256(shared), package_type: "shared_library" },
    });

  test("brings the libraries on which a wheel depends", async () => {
    const { libraries } = await installed({
      [TALLY]: bare,
      "counting-1.0.zip": shared,
      "pyodide-lock.json": locked(),
    });
    expect([...libraries.keys()]).toEqual(["tally/_tally.abi3.so", ".libraries/counting.so"]);
  });

  test("brings packages on which a wheel depends only by the lock", async () => {
    const helper = buildWheel({ name: "helper", files: { "helper.py": "" } });
    const lock = lockOf({ tally: { file_name: TALLY, sha256: sha256(whole), depends: ["helper"] } });
    const files = { [TALLY]: whole, "pyodide-lock.json": lock };
    const { packages } = await installed({ ...files, "helper-1.0-py3-none-any.whl": helper });
    expect(Object.keys(packages)).toContain("helper.py");
    expect(await problemOf(() => installed(files))).toContain('pyodide-lock.json, package "tally", asks for "helper"');
  });

  test.each<[string, Record<string, string | Buffer>, string]>([
    ["whose wheel was replaced", { [TALLY]: whole, "pyodide-lock.json": locked() }, "has another SHA-256"],
    [
      "whose library was replaced",
      { [TALLY]: bare, "counting-1.0.zip": buildZip([]), "pyodide-lock.json": locked() },
      '"counting-1.0.zip" has another SHA-256',
    ],
    [
      "whose library is missing",
      { [TALLY]: bare, "pyodide-lock.json": locked() },
      'names "counting-1.0.zip" for "counting-lib", which is not in the folder',
    ],
    ["whose wheel is missing", { "pyodide-lock.json": locked() }, `whose file "${TALLY}" is not there`],
    ["that names no library", { [TALLY]: bare, "pyodide-lock.json": locked({ depends: [] }) }, 'library "counting.so"'],
    [
      "of another Pyodide",
      { [TALLY]: whole, "pyodide-lock.json": lockOf({}, { abi_version: "2025_0" }) },
      'abi_version is "2025_0"; this is 2026_0',
    ],
    ["that is not JSON", { [TALLY]: whole, "pyodide-lock.json": "{" }, "pyodide-lock.json is not JSON"],
    ["that is another file", { [TALLY]: whole, "pyodide-lock.json": "{}" }, 'has no object "info"'],
    [
      "that names a file elsewhere",
      { [TALLY]: whole, "pyodide-lock.json": locked({ file_name: "../tally.whl" }) },
      'package "tally", must have file_name',
    ],
  ])("%s is refused", async (_what, files, expected) => {
    expect(await problemOf(() => installed(files))).toContain(expected);
  });
});
