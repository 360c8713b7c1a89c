import { createHash, randomBytes } from "node:crypto";
import { readFile, rm, symlink, writeFile } from "node:fs/promises";
import path from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { PackageError } from "../../src/kernel/tool/package/step.ts";
import { install } from "../../src/python/runtime/installation.ts";
import { parseRequirements } from "../../src/python/runtime/requirements.ts";
import { readWheel } from "../../src/python/runtime/wheel.ts";
import { readWheelName, type WheelName } from "../../src/python/runtime/wheel-name.ts";
import { Wheels } from "../../src/python/runtime/wheels.ts";
import { newFolder, newTree } from "../kernel/tool/package/opening.ts";
import { buildWheel, recordRow, wheelFiles, type WheelParts } from "./build-wheel.ts";
import { problemOf } from "./refusal.ts";

const MAX_BYTES = 1024 * 1024;

function nameOf(file: string): WheelName {
  const name = readWheelName(file);
  if (name === null) throw new Error(`${file} is no name of a wheel`);
  return name;
}

async function filesOf(parts: Omit<WheelParts, "name">): Promise<Readonly<Record<string, unknown>>> {
  const bytes = buildWheel({ name: "one", ...parts });
  const { files } = await readWheel(bytes, nameOf("one-1.0-py3-none-any.whl"), MAX_BYTES);
  return Object.fromEntries(files);
}

async function installed(folder: string | undefined, text: string): Promise<readonly string[]> {
  const { packages } = await install(parseRequirements(text), new Wheels(folder, MAX_BYTES));
  return Object.keys(packages).filter((file) => !file.includes(".dist-info/"));
}

const folderOf = (...wheels: readonly WheelParts[]): Promise<string> => newTree(wheelFiles(...wheels));

describe("the name of a wheel", () => {
  test.each<[string, Partial<WheelName>]>([
    ["six-1.17.0-py2.py3-none-any.whl", { name: "six", version: "1.17.0", build: 0, code: "pure" }],
    ["Foo.Bar_baz-1.0-2-py3-none-any.whl", { name: "foo-bar-baz", build: 2, code: "pure" }],
    ["a-1.0-3abc-py3-none-any.whl", { build: 3, code: "pure" }],
    ["a-1.0.post1-py36-none-any.whl", { version: "1.0.post1", code: "pure" }],
    ["a-1.0+local_1-cp314-none-any.whl", { code: "pure" }],
    ["a-1.0-py2-none-any.whl", { code: "other" }],
    ["a-1.0-py399-none-any.whl", { code: "other" }],
    ["a-1.0-cp311-cp311-manylinux2014_x86_64.manylinux_2_17_x86_64.whl", { code: "foreign" }],
    ["a-1.0-cp39-abi3-win_amd64.whl", { code: "foreign" }],
    ["a-1.0-cp313-cp313-pyodide_2025_0_wasm32.whl", { code: "foreign" }],
    ["a-1.0-py3-none-linux_x86_64.whl", { code: "foreign" }],
    ["a-1.0-cp314-cp314-pyemscripten_2026_0_wasm32.whl", { code: "compiled" }],
    ["a-1.0-cp314-cp314-pyodide_2026_0_wasm32.whl", { code: "compiled" }],
    ["a-1.0-cp39-abi3-pyemscripten_2026_0_wasm32.whl", { code: "compiled" }],
    ["a-1.0-py3-none-pyemscripten_2026_0_wasm32.whl", { code: "compiled" }],
    ["a-1.0-cp315-abi3-pyemscripten_2026_0_wasm32.whl", { code: "foreign" }],
    ["a-1.0-cp314-cp314t-pyemscripten_2026_0_wasm32.whl", { code: "foreign" }],
    ["a-1.0-cp314-cp314-pyemscripten_2027_0_wasm32.whl", { code: "foreign" }],
  ])("says what is in it: %s", (file, expected) => {
    expect(readWheelName(file)).toMatchObject({ file, ...expected });
  });

  test.each([
    "six-1.17.0.tar.gz",
    "six-1.17.0-py3-none-any.zip",
    "six-py3-none-any.whl",
    "six-x-py3-none-any.whl",
    "six-1.0-b-py3-none-any.whl",
    "six-1.0-1-2-py3-none-any.whl",
    "..-1.0-py3-none-any.whl",
    "six-1.0-py3-none-.whl",
    "six-1.0-py3-none-a/b.whl",
    ".whl",
    `${"a".repeat(300)}-1.0-py3-none-any.whl`,
  ])("is not a wheel: %s", (file) => {
    expect(readWheelName(file)).toBeNull();
  });

  test("is read of any text, or not", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 80 }), (text) => {
        const found = readWheelName(`${text}-py3-none-any.whl`);
        expect(found === null || /^[a-z\d][a-z\d-]*$/.test(found.name)).toBe(true);
      }),
    );
  });
});

describe("a wheel", () => {
  test("is its files, as site-packages hold them: texts, and bytes where they are not text", async () => {
    const bytes = Buffer.from([0, 255, 254]);
    const files = { "one/__init__.py": "x = 'é'\r\n", "one/a,b.txt": "1", "one/data.bin": bytes };
    expect(await filesOf({ files })).toMatchObject({
      "one/__init__.py": "x = 'é'\r\n",
      "one/a,b.txt": "1",
      "one/data.bin": { base64: bytes.toString("base64") },
      "one-1.0.dist-info/METADATA": expect.stringContaining("Name: one"),
    });
  });

  test("has what it brings for purelib and platlib beside them, and scripts, headers and caches nowhere", async () => {
    const files = {
      "one.py": "",
      "one-1.0.data/purelib/pure.py": "1",
      "one-1.0.data/platlib/deep/plat.py": "2",
      "one-1.0.data/scripts/run": "#!python",
      "one-1.0.data/headers/one.h": "",
      "one-1.0.data/data/share/one.txt": "",
      "__pycache__/one.cpython-314.pyc": "x",
    };
    const found = Object.keys(await filesOf({ files })).filter((file) => !file.includes(".dist-info/"));
    expect(found.sort()).toEqual(["deep/plat.py", "one.py", "pure.py"]);
  });

  test("keeps a file with any name as a file of its own", async () => {
    const files = await filesOf({ files: { "one/__init__.py": "", ["__proto__"]: "x", ["constructor"]: "y" } });
    expect(Object.entries(files)).toEqual(
      expect.arrayContaining([
        ["__proto__", "x"],
        ["constructor", "y"],
      ]),
    );
  });

  test.each<[string, Omit<WheelParts, "name">, string]>([
    ["without a RECORD", { record: () => null }, "it has no RECORD"],
    ["with a file that its RECORD does not name", { more: [{ name: "one/evil.py", data: "" }] }, "does not list"],
    ["with a file that is missing", { record: (rows) => [...rows, "one/gone.py,sha256=x,1"] }, "is missing"],
    [
      "with a file that is another one",
      { record: (rows) => [recordRow("one/__init__.py", "other"), ...rows.slice(1)] },
      "does not match the hash in its RECORD",
    ],
    [
      "with a file without a hash",
      { record: (rows) => ["one/__init__.py,,", ...rows.slice(1)] },
      "does not match the hash",
    ],
    [
      "with a file by a weak hash",
      { record: (rows) => ["one/__init__.py,md5=1B2M2Y8AsgTpgAmY7PhCfg,0", ...rows.slice(1)] },
      "does not match the hash",
    ],
    ["with a file twice in its RECORD", { record: (rows) => [...rows, rows[0] ?? ""] }, "twice"],
    ["with a RECORD that is invalid", { record: () => ["a,b"] }, "is missing"],
    ["of another format", { wheel: "Wheel-Version: 2.0\n" }, "supported is 1.x"],
    ["without a format", { wheel: "Generator: x\n" }, "has no field Wheel-Version"],
    ["that says of itself another name", { said: "Name: other\nVersion: 1.0" }, "does not match its METADATA"],
    ["that says of itself another version", { said: "Name: one\nVersion: 1.1" }, "does not match its METADATA"],
    ["that says its name twice", { said: "Name: one\nName: one\nVersion: 1.0" }, "more than one field"],
    ["whose METADATA is invalid", { said: "Name: one\nVersion: 1.0\nno field" }, "has the line"],
    ["whose folder is another one's", { info: "other-1.0.dist-info" }, "its folder"],
    ["with two such folders", { files: { "two-1.0.dist-info/x": "" } }, "more than one"],
    ["for another Python", { metadata: ["Requires-Python: >=3.99"] }, "requires Python"],
    ["that asks for what is not understood", { metadata: ["Requires-Dist: a b"] }, "not understood"],
    [
      "that asks for an address",
      { metadata: ["Requires-Dist: a @ https://example.com/a.whl"] },
      "an address or a file",
    ],
    ["that asks for too much", { metadata: Array<string>(1_001).fill("Requires-Dist: a") }, "more than 1000 packages"],
    ["with compiled code", { files: { "one/fast.cpython-314-x86_64-linux-gnu.so": "\u007fELF" } }, "compiled code"],
    ["with compiled code of a version", { files: { "one/libx.so.1.2": "" } }, "compiled code"],
    ["with compiled code of Windows", { files: { "one/fast.pyd": "MZ" } }, "compiled code"],
    ["with one file in two places", { files: { "a.py": "1", "one-1.0.data/purelib/a.py": "2" } }, "twice"],
    ["with a name that leads out", { more: [{ name: "../evil.py" }] }, "leads out"],
    ["with an absolute name", { more: [{ name: "/etc/evil.py" }] }, "absolute path"],
    [
      "with a link",
      { more: [{ name: "one/link", data: "/etc", central: { attributes: 0o120777 * 65_536 } }] },
      "is a link",
    ],
    ["with a name in two ways of writing it", { files: { "one/a.py": "", "one/A.py": "" } }, "two entries for"],
    ["that is a bomb", { more: [{ name: "one/bomb", data: Buffer.alloc(5 * 1024 * 1024) }] }, "too much for its size"],
  ])("%s is refused by its name", async (_what, parts, problem) => {
    const message = await problemOf(() => filesOf(parts));
    expect(message).toContain('the wheel "one-1.0-py3-none-any.whl"');
    expect(message).toContain(problem);
  });

  test("of which any byte is another one is the same or refused", async () => {
    const bytes = buildWheel({ name: "one", files: { "one/__init__.py": "answer = 42\n" } });
    const name = nameOf("one-1.0-py3-none-any.whl");
    const right = (await readWheel(bytes, name, MAX_BYTES)).files.get("one/__init__.py");
    await fc.assert(
      fc.asyncProperty(fc.nat(bytes.length - 1), fc.integer({ min: 1, max: 255 }), async (at, change) => {
        const other = Buffer.from(bytes);
        other[at] = (other[at] ?? 0) ^ change;
        const found = await readWheel(other, name, MAX_BYTES).catch((error: unknown) => error);
        if (found instanceof PackageError) return;
        expect(found).toMatchObject({ files: expect.any(Map) });
        expect((found as { files: ReadonlyMap<string, unknown> }).files.get("one/__init__.py")).toBe(right);
      }),
      { numRuns: 300 },
    );
  });
});

describe("requirements are met from the operator's folder", () => {
  test("with the latest version that suits, whatever else lies there", async () => {
    const folder = await newTree({
      ...wheelFiles(
        { name: "one", version: "1.2", files: { "v12.py": "" } },
        { name: "one", version: "1.10", files: { "v110.py": "" } },
        { name: "one", version: "2.0rc1", files: { "v2rc.py": "" } },
      ),
      "one-3.0-cp314-cp314-linux_x86_64.whl": "",
      "one-4.0.tar.gz": "",
      "README.md": "",
    });
    expect(await installed(folder, "one")).toEqual(["v110.py"]);
    expect(await installed(folder, "ONE<1.5,>=1")).toEqual(["v12.py"]);
    // What is not released is taken where nothing else will do.
    expect(await installed(folder, "one>=2.0rc1")).toEqual(["v2rc.py"]);
  });

  test("with what the wheels ask for themselves, also in a circle, and not what only others ask for", async () => {
    const folder = await folderOf(
      { name: "one", metadata: ["Requires-Dist: two (>=1)", "Requires-Dist: four; sys_platform == 'win32'"] },
      { name: "two", metadata: ["Requires-Dist: one", "Requires-Dist: three; extra == 'more'"] },
      { name: "three" },
    );
    expect(await installed(folder, "one")).toEqual(["one/__init__.py", "two/__init__.py"]);
    expect(await installed(folder, "two[more]")).toEqual(["one/__init__.py", "three/__init__.py", "two/__init__.py"]);
  });

  test("with a version that suits all who ask", async () => {
    const folder = await folderOf(
      { name: "base", version: "1.0", files: { "base1.py": "" } },
      { name: "base", version: "2.0", files: { "base2.py": "" } },
      { name: "one", metadata: ["Requires-Dist: base<2"] },
    );
    expect(await installed(folder, "base\none")).toEqual(["base1.py", "one/__init__.py"]);
    const message = await problemOf(() => installed(folder, "base>=2\none"));
    expect(message).toContain('asks for "base>=2", and what is there is "1.0, 2.0"');
    expect(message).toContain('the wheel "one-1.0-py3-none-any.whl" asks for "base<2"');
  });

  test("with a higher build before a lower one", async () => {
    const folder = await newTree({
      "one-1.0-1-py3-none-any.whl": buildWheel({ name: "one", files: { "first.py": "" } }),
      "one-1.0-10-py3-none-any.whl": buildWheel({ name: "one", files: { "tenth.py": "" } }),
    });
    expect(await installed(folder, "one")).toEqual(["tenth.py"]);
  });

  test("with a wheel that has one of the hashes that are named, and no other", async () => {
    const folder = await folderOf({ name: "one" });
    const hash = createHash("sha256")
      .update(await readFile(path.join(folder, "one-1.0-py3-none-any.whl")))
      .digest("hex");
    expect(await installed(folder, `one==1.0 --hash=sha256:${"0".repeat(64)} --hash=sha256:${hash}`)).toHaveLength(1);
    const message = await problemOf(() => installed(folder, `one==1.0 --hash=sha256:${"0".repeat(64)}`));
    expect(message).toContain("none of the hashes");
  });

  test("by the interpreter, where it stands in for a package of which there is no wheel that suits", async () => {
    const folder = await folderOf({ name: "requests", version: "2.0" }, { name: "ddgs", version: "9.7" });
    for (const line of ["requests>=2.20", "requests==2.31.0", "Requests[socks]<2.30,>2.20", "httpx~=0.27", "ddgs"]) {
      expect(await installed(folder, line)).toEqual([]);
      expect(await installed(undefined, line)).toEqual([]);
    }
    expect(await installed(folder, "requests")).toEqual(["requests/__init__.py"]);
    expect(await problemOf(() => installed(folder, "requests==99"))).toContain("the versions >=2,<3");
  });

  test("as the folder is then: a wheel that is put there, and one that another takes the place of, are seen", async () => {
    const folder = await folderOf({ name: "one", files: { "old.py": "" } });
    const wheels = new Wheels(folder, MAX_BYTES);
    const read = async (): Promise<readonly string[]> => {
      const { packages } = await install(parseRequirements("one"), wheels);
      return Object.keys(packages).filter((file) => !file.includes(".dist-info/"));
    };
    expect([await read(), await read()]).toEqual([["old.py"], ["old.py"]]);
    await writeFile(
      path.join(folder, "one-1.0-py3-none-any.whl"),
      buildWheel({ name: "one", files: { "new.py": "" } }),
    );
    expect(await read()).toEqual(["new.py"]);
    wheels.clear();
    await rm(path.join(folder, "one-1.0-py3-none-any.whl"));
    expect(await problemOf(read)).toContain("which is not there");
  });

  test("through links of the operator's own", async () => {
    const [place, folder] = [await folderOf({ name: "one" }), await newFolder()];
    const file = "one-1.0-py3-none-any.whl";
    await symlink(path.join(place, file), path.join(folder, file));
    expect(await installed(folder, "one")).toEqual(["one/__init__.py"]);
  });
});

describe("a requirement that cannot be met says why", () => {
  test("where nothing is there, and where the operator can put it", async () => {
    for (const folder of [undefined, await newFolder()]) {
      const message = await problemOf(() => installed(folder, "\nattrs>=20"));
      expect(message).toBe(
        'code/requirements.txt, line 2, asks for "attrs>=20", which is not there; the operator can put a wheel of pure Python (…-py3-none-any.whl) into the folder packages.wheels: glovebox python add attrs',
      );
    }
  });

  test("where it is compiled: as one that is known [C14], and as its wheels say", async () => {
    const missing = "which is compiled code, and no wheel of it is there";
    expect(await problemOf(() => installed(undefined, "numpy"))).toContain(missing);
    expect(await problemOf(() => installed(undefined, "pillow"))).toContain(missing);
    const file = "fast-1.0-cp314-cp314-manylinux_2_17_x86_64.whl";
    const said = await problemOf(async () => installed(await newTree({ [file]: "" }), "fast"));
    expect(said).toContain(`and its wheel "${file}" is compiled for another platform or Python`);
    expect(said).toContain("(…-cp314-cp314-pyemscripten_2026_0_wasm32.whl)");
  });

  test("where its wheels are for another Python", async () => {
    const folder = await newTree({ "old-1.0-py2-none-any.whl": "" });
    expect(await problemOf(() => installed(folder, "old"))).toContain("for another Python");
  });

  test("where a wheel needs what is not there", async () => {
    const folder = await folderOf({ name: "one", metadata: ["Requires-Dist: two>=2"] });
    expect(await problemOf(() => installed(folder, "one"))).toContain(
      'the wheel "one-1.0-py3-none-any.whl" asks for "two>=2", which is not there',
    );
  });

  test("where the folder is invalid", async () => {
    const folder = path.join(await newFolder(), "absent");
    const message = await problemOf(() => installed(folder, "one"));
    expect(message).toBe("the folder packages.wheels cannot be read (ENOENT); glovebox python add PACKAGE makes it");
  });

  test("where they are too much together, though each is not", async () => {
    const half = randomBytes(4 * 1024 * 1024);
    const folder = await folderOf(
      { name: "one", files: { "one.txt": half } },
      { name: "two", files: { "two.txt": half } },
    );
    const wheels = new Wheels(folder, 64 * 1024 * 1024);
    const installing = (): Promise<unknown> => install(parseRequirements("one\ntwo"), wheels);
    expect(await problemOf(installing)).toContain("more than 10485760 characters");
  });

  test("where two wheels have a file of one name", async () => {
    const folder = await folderOf(
      { name: "one", files: { "same.py": "1" } },
      { name: "two", files: { "same.py": "2" } },
      { name: "three", files: { "same.py": "1" } },
      { name: "four", files: { "same.py/x.py": "" } },
    );
    expect(await problemOf(() => installed(folder, "one\ntwo"))).toContain("which another wheel contains too");
    expect(await problemOf(() => installed(folder, "one\nfour"))).toContain(
      "is a file in one wheel and a folder in another",
    );
    expect(await installed(folder, "one\nthree")).toEqual(["same.py"]);
  });

  test("where wheels cannot be chosen that suit each other", async () => {
    // Whichever version is chosen, it asks for the other one.
    const folder = await folderOf(
      { name: "one", version: "1.0", files: { "a.py": "" } },
      { name: "one", version: "2.0", files: { "b.py": "" }, metadata: ["Requires-Dist: two"] },
      { name: "two", files: { "c.py": "" }, metadata: ["Requires-Dist: one<2"] },
    );
    expect(await problemOf(() => installed(folder, "one"))).toContain("no compatible set of wheels");
  });
});
