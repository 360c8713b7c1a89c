import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { addWheels } from "../../src/python/runtime/add-wheels.ts";
import { compiledIn } from "../../src/python/runtime/distribution.ts";
import { PackageIndex } from "../../src/python/runtime/package-index.ts";
import { readPyodideLock } from "../../src/python/runtime/pyodide-lock.ts";
import { readPylock } from "../../src/python/runtime/pylock.ts";
import { readRequirement } from "../../src/python/runtime/requirement.ts";
import { parseRequirements } from "../../src/python/runtime/requirements.ts";
import { buildZip } from "../kernel/tool/package/build-zip.ts";
import { newFolder, newTree } from "../kernel/tool/package/opening.ts";
import { type IndexFile, indexFile, type PageForm, serveIndex } from "./index-server.ts";
import { problemOf } from "./refusal.ts";

const MAX_BYTES = 1024 * 1024;
const requires = (...lines: string[]) => ({ metadata: lines.map((line) => `Requires-Dist: ${line}`) });
const wheel = (name: string, version: string, ...lines: string[]) =>
  indexFile({ name, version, ...requires(...lines) });

/** A tree of ten: `app` needs all but what conditions and extras leave out. */
const TREE: readonly IndexFile[] = [
  wheel(
    "app",
    "2.0",
    "web[fast]>=1.2,<2",
    "Dates~=3.1",
    'windows; sys_platform == "win32"',
    'old; python_version < "3"',
  ),
  wheel("app", "1.0", "web"),
  wheel("web", "1.4", "text_tools", 'speed>=1; extra == "fast"', 'checks; extra == "test"'),
  wheel("web", "1.2", "text_tools"),
  wheel("web", "2.1"),
  wheel("dates", "3.1.4", "six>=1.5"),
  wheel("dates", "3.2"),
  wheel("dates", "4.0"),
  wheel("text_tools", "0.9", 'tables (>=1.0,!=1.3); os_name == "posix"'),
  wheel("tables", "1.2"),
  wheel("tables", "1.3"),
  wheel("speed", "1.0", "six<2"),
  wheel("six", "1.17", 'typing-extras; implementation_name == "cpython"'),
  wheel("six", "2.0"),
  wheel("typing_extras", "5.0", "core"),
  wheel("core", "1.0", "leaf==0.1"),
  wheel("leaf", "0.1"),
  wheel("leaf", "0.2"),
  wheel("windows", "1.0"),
];

const asked = (...texts: string[]) => texts.map((text) => readRequirement(text, "the command line"));

async function open(files: readonly IndexFile[], form: PageForm = "json", folder?: string) {
  const server = await serveIndex(files, form);
  const place = folder ?? (await newFolder());
  const add = (...texts: string[]) =>
    addWheels(asked(...texts), {
      folder: place,
      index: new PackageIndex(`${server.origin}/simple/`, MAX_BYTES),
      distribution: null,
      maxBytes: MAX_BYTES,
    });
  const versions = async (...texts: string[]) =>
    Object.fromEntries((await add(...texts)).wheels.map(({ name, version }) => [name, version]));
  return { server, folder: place, add, versions, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

describe("packages are added with all that they require", () => {
  test.each(["json", "html"] as const)(
    "for a tree of ten with conditions and extras, from pages of %s",
    async (form) => {
      await using bench = await open(TREE, form);
      expect(await bench.versions("App>=1")).toEqual({
        app: "2.0",
        core: "1.0",
        dates: "3.2",
        leaf: "0.1",
        six: "1.17",
        speed: "1.0",
        tables: "1.2",
        "text-tools": "0.9",
        "typing-extras": "5.0",
        web: "1.4",
      });
      const files = (await readdir(bench.folder)).sort();
      expect(files).toHaveLength(11);
      expect(files).toContain("web-1.4-py3-none-any.whl");
    },
  );

  test("with a lock that is read as any other, and names each wheel by its address and hash", async () => {
    await using bench = await open(TREE);
    await bench.add("tables");
    const pinned = await readPylock(bench.folder, "");
    expect(pinned?.map(({ name, versions, hashes }) => [name, versions, hashes.length])).toEqual([
      ["tables", "==1.3", 1],
    ]);
    const lock = await readFile(path.join(bench.folder, "pylock.toml"), "utf8");
    expect(lock).toMatch(/^lock-version = "1\.0"\nenvironments = \["sys_platform == 'emscripten'"\]\n/);
    expect(lock).toContain(
      `{ name = "tables-1.3-py3-none-any.whl", url = "${bench.server.origin}/files/tables-1.3-py3-none-any.whl", hashes = { sha256 = "`,
    );
    expect(lock).toContain('[tool.glovebox]\nrequirements = ["tables"]\n');
  });

  test("beside those that are there, which keep their versions where they fit, and are not downloaded again", async () => {
    await using bench = await open(TREE);
    await bench.versions("tables<1.3");
    const before = bench.server.seen.length;
    const { wheels } = await bench.add("text-tools");
    expect(wheels.map(({ name, version, isNew }) => [name, version, isNew])).toEqual([
      ["tables", "1.2", false],
      ["text-tools", "0.9", true],
    ]);
    expect(bench.server.seen.slice(before).map(({ url }) => url)).not.toContain("/files/tables-1.2-py3-none-any.whl");
    expect(await bench.versions("tables")).toEqual({ tables: "1.2", "text-tools": "0.9" });
    expect(await bench.versions("tables>=1.3", "text-tools").catch(String)).toContain("tables");
  });

  test("and a wheel that the operator has put there serves without the index", async () => {
    const { bytes } = wheel("lonely", "1.0", "leaf");
    const folder = await newTree({ "lonely-1.0-py3-none-any.whl": bytes });
    await using bench = await open(TREE, "json", folder);
    expect(await bench.versions("lonely")).toEqual({ lonely: "1.0", leaf: "0.2" });
    expect(await readFile(path.join(folder, "pylock.toml"), "utf8")).toContain('path = "lonely-1.0-py3-none-any.whl"');
  });

  test("but those that the interpreter stands in for", async () => {
    await using bench = await open([wheel("uses", "1.0", "aiohttp>=3", "requests")]);
    expect(await bench.add("uses", "aiohttp")).toMatchObject({ wheels: [{ name: "uses" }], builtIn: ["aiohttp"] });
  });

  test("in an older version, where the latest requires what does not fit", async () => {
    await using bench = await open([...TREE, wheel("picky", "2.0", "leaf>=0.2"), wheel("picky", "1.0", "leaf")]);
    expect(await bench.versions("picky", "core")).toEqual({ core: "1.0", leaf: "0.1", picky: "1.0" });
  });

  test("from a file of requirements, with hashes that close the set", async () => {
    await using bench = await open(TREE);
    const places = {
      folder: bench.folder,
      index: new PackageIndex(`${bench.server.origin}/simple`, MAX_BYTES),
      distribution: null,
      maxBytes: MAX_BYTES,
    };
    const hash = "0".repeat(64);
    const wrong = parseRequirements(`leaf==0.1 --hash=sha256:${hash}`, "wanted.txt");
    expect(await problemOf(() => addWheels(wrong, places))).toMatch(
      /^wanted\.txt, line 1, asks for "leaf==0\.1", .*none of the hashes/,
    );
    const right = parseRequirements("# one\nleaf==0.1\nwindows ; sys_platform == 'win32'\n", "wanted.txt");
    expect((await addWheels(right, places)).wheels.map(({ name }) => name)).toEqual(["leaf"]);
  });
});

describe("what cannot be added is named, and nothing is written", () => {
  const files = [
    ...TREE,
    wheel("left", "1.0", "leaf>=0.2"),
    wheel("right", "1.0", "leaf<0.2"),
    indexFile({ name: "newer", version: "1.0" }, { python: ">=3.99" }),
    indexFile({ name: "gone", version: "1.0" }, { isYanked: true }),
    indexFile({ name: "liar", version: "1.0" }, { sha256: "f".repeat(64) }),
    { file: "fast-1.0-cp314-cp314-manylinux_2_17_x86_64.whl", bytes: Buffer.alloc(0) },
    { file: "source-1.0.tar.gz", bytes: Buffer.alloc(0) },
    { file: "big-1.0-py3-none-any.whl", bytes: Buffer.alloc(MAX_BYTES + 1) },
    { file: "broken-1.0-py3-none-any.whl", bytes: Buffer.from("no archive") },
  ];

  test.each([
    [
      "two that conflict",
      ["left", "right"],
      /"left-1\.0-py3-none-any\.whl" asks for "leaf>=0\.2".*"0\.1, 0\.2".*"right-1\.0-py3-none-any\.whl" asks for "leaf<0\.2"/,
    ],
    ["a version that there is not", ["leaf>=9"], /the command line asks for "leaf>=9", and the index has "0\.1, 0\.2"/],
    [
      "a package that there is not",
      ["nowhere"],
      /asks for "nowhere", of which the index has no wheel; what runs here is a wheel of pure Python/,
    ],
    ["a package for a later Python", ["newer"], /asks for "newer", of which the index has no wheel/],
    ["a withdrawn version", ["gone"], /asks for "gone", of which the index has no wheel/],
    [
      "a wheel that was replaced",
      ["liar"],
      /"liar-1\.0-py3-none-any\.whl" has another SHA-256 than the index names for it/,
    ],
    [
      "a wheel for another machine",
      ["fast"],
      /"fast-1\.0-cp314-cp314-manylinux_2_17_x86_64\.whl" is compiled for another platform/,
    ],
    ["a package that has sources only", ["source"], /asks for "source", of which the index has no wheel/],
    ["a wheel that is too large", ["big"], /big-1\.0-py3-none-any\.whl is larger than 1048576 bytes/],
    ["a wheel that is no archive", ["broken"], /the wheel "broken-1\.0-py3-none-any\.whl" cannot be used/],
  ])("%s", async (_what, texts, problem) => {
    await using bench = await open(files);
    expect(await problemOf(() => bench.add(...texts, "tables"))).toMatch(problem);
    expect(await readdir(bench.folder)).toEqual([]);
  });

  test("a withdrawn version is taken where it is asked for exactly", async () => {
    await using bench = await open(files);
    expect(await bench.versions("gone==1.0")).toEqual({ gone: "1.0" });
  });
});

describe("what was compiled for the interpreter comes from Pyodide's distribution", () => {
  const compiled = (name: string, version: string, ...lines: string[]): IndexFile => ({
    ...wheel(name, version, ...lines),
    file: `${name}-${version}-cp314-cp314-pyemscripten_2026_0_wasm32.whl`,
  });
  const archive = { file: "libfast-1.0.zip", bytes: buildZip([{ name: "libfast.so", data: "\0asm" }]) };
  const lockOf = (files: readonly IndexFile[], depends: Readonly<Record<string, readonly string[]>>) => ({
    info: { abi_version: "2026_0" },
    packages: Object.fromEntries(
      files.map(({ file, bytes }) => {
        const [name = "", version = ""] = file.replace(".zip", "").split("-");
        const sha256 = createHash("sha256").update(bytes).digest("hex");
        const kind = file.endsWith(".zip") ? "shared_library" : "package";
        return [name, { file_name: file, version, sha256, depends: depends[name] ?? [], package_type: kind }];
      }),
    ),
  });

  test("with the libraries that its lock names, and that lock, where the index has no wheel for it", async () => {
    const files = [compiled("fast", "1.5", "leaf"), compiled("other", "1.0"), archive];
    // Its wheels of pure Python are built anew: the index has others of the same name.
    const rebuilt = wheel("six", "2.0", "leaf");
    const written = lockOf([...files, rebuilt], { fast: ["libfast", "six"] });
    const machines = { file: "fast-1.6-cp314-cp314-manylinux_2_17_x86_64.whl", bytes: Buffer.alloc(0) };
    await using pyodide = await serveIndex(files);
    await using server = await serveIndex([
      ...TREE,
      machines,
      wheel("app2", "2.0", "fast==9"),
      wheel("app2", "1.0", "fast"),
    ]);
    const folder = await newFolder();
    const distribution = {
      index: new PackageIndex(`${pyodide.origin}/files/`, MAX_BYTES),
      lock: compiledIn(readPyodideLock(Buffer.from(JSON.stringify(written)))),
      written,
    };
    const places = {
      folder,
      index: new PackageIndex(`${server.origin}/simple/`, MAX_BYTES),
      distribution,
      maxBytes: MAX_BYTES,
    };
    const { wheels } = await addWheels(asked("app2"), places);
    const added = wheels.map(({ name, version }) => `${name} ${version}`);
    expect(added).toEqual(["app2 1.0", "fast 1.5", "leaf 0.2", "six 2.0"]);
    const lock = JSON.parse(await readFile(path.join(folder, "pyodide-lock.json"), "utf8")) as { packages: object };
    expect(Object.keys(lock.packages).sort()).toEqual(["fast", "libfast"]);
    expect(await readdir(folder)).toContain("libfast-1.0.zip");
    expect(pyodide.seen.map(({ url }) => url).sort()).toEqual([`/files/${files[0]?.file}`, "/files/libfast-1.0.zip"]);
    // What is there is not downloaded again.
    await addWheels(asked("leaf"), places);
    expect(pyodide.seen).toHaveLength(2);
    expect(await readFile(path.join(folder, "pylock.toml"), "utf8")).toContain(`${pyodide.origin}/files/fast-1.5-`);
  });

  test("which is refused where it has another hash than the installed package names", async () => {
    const good = compiled("fast", "1.5");
    const written = lockOf([good], {});
    await using pyodide = await serveIndex([{ ...good, bytes: Buffer.from("another") }]);
    await using server = await serveIndex([]);
    const distribution = {
      index: new PackageIndex(`${pyodide.origin}/files/`, MAX_BYTES),
      lock: compiledIn(readPyodideLock(Buffer.from(JSON.stringify(written)))),
      written,
    };
    const index = new PackageIndex(`${server.origin}/simple/`, MAX_BYTES);
    const folder = await newFolder();
    expect(
      await problemOf(() => addWheels(asked("fast"), { folder, index, distribution, maxBytes: MAX_BYTES })),
    ).toMatch(/"fast-1\.5-cp314-.*" has another SHA-256 than the index names for it/);
    expect(await readdir(folder)).toEqual([]);
  });
});
