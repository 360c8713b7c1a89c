import { crc32 } from "node:zlib";
import { describe, expect, test } from "vitest";
import { refusalOf } from "../temporary.ts";
import { buildZip, type ZipEnd, type ZipPart } from "./build-zip.ts";
import { filesIn, newContext, openArchive, watchTemporary } from "./opening.ts";

const MODULE: ZipPart = { name: "code/function.js", data: "export default () => 1;" };
const MODE_LINK = 0o120777 * 0x10000;

async function opened(parts: readonly ZipPart[], end: ZipEnd = {}): Promise<Record<string, string>> {
  await using found = await openArchive("tool.zip", buildZip(parts, end));
  return await filesIn(found.folder);
}

describe("a zip archive is unpacked", () => {
  test("into a folder of its own that nobody else may read, and that goes with the package [C05]", async () => {
    const left = await watchTemporary();
    const parts = [{ name: "code/", isStored: true }, MODULE, { name: "code/lib/a.js", data: "1", isStored: true }];
    const found = await openArchive("tool.zip", buildZip(parts));
    expect(await left()).toHaveLength(1);
    expect(await filesIn(found.folder)).toEqual({ "code/function.js": MODULE.data, "code/lib/a.js": "1" });
    expect(found).toMatchObject({ name: "tool", layout: { runtime: "javascript", entry: "code/function.js" } });
    expect(found.sha256).toMatch(/^[0-9a-f]{64}$/);
    await found[Symbol.asyncDispose]();
    expect(await left()).toEqual([]);
  });

  test("with what ends sizes behind the data, a comment, and the wide form of its end", async () => {
    const sizes = Buffer.alloc(16);
    sizes.writeUInt32LE(0x08074b50, 0);
    const streamed: ZipPart = {
      ...MODULE,
      both: { flags: 0x0808 },
      local: { crc: 0, packedBytes: 0, bytes: 0 },
      behind: sizes,
    };
    for (const end of [{}, { comment: "made by hand" }, { wide: true }] as const) {
      expect(await opened([streamed], end)).toEqual({ "code/function.js": MODULE.data });
    }
  });

  test("with modes that are ours, whatever it says: no file is one to start, or has its owner's rights", async () => {
    const attributes = 0o106777 * 0x10000;
    expect(Object.keys(await opened([{ ...MODULE, central: { attributes } }]))).toEqual(["code/function.js"]);
  });

  test("with the archives in it as files", async () => {
    const inner = buildZip([{ name: "../evil.js", data: "1" }]);
    const files = await opened([MODULE, { name: "code/inner.zip", data: inner }]);
    expect(Object.keys(files).sort()).toEqual(["code/function.js", "code/inner.zip"]);
  });

  test("with names that begin with a dot, as some archivers write them", async () => {
    expect(
      Object.keys(
        await opened([
          { name: "./", isStored: true },
          { ...MODULE, name: "./code/function.js" },
        ]),
      ),
    ).toEqual(["code/function.js"]);
  });
});

const CONTENT = { data: "x" };
const NAMES: readonly [what: string, name: string, problem: string][] = [
  ["leads out", "../evil.js", "leads out of the package"],
  ["leads out from within", "code/../../evil.js", "leads out of the package"],
  ["leads out at its end", "code/..", "leads out of the package"],
  ["is absolute", "/etc/cron.d/evil", "absolute path"],
  ["is absolute on Windows", "C:/evil.js", "absolute path"],
  ["names a drive", "c:evil.js", "absolute path"],
  ["has backslashes", "C:\\evil.js", "control or reserved character"],
  ["leads out by backslashes", "..\\..\\evil.js", "control or reserved character"],
  ["has a NUL", "code/a.js\0.txt", "control or reserved character"],
  ["has a line feed", "code/a\n.js", "control or reserved character"],
  ["has an empty part", "code//a.js", "invalid path"],
  ["has a part that is a dot", "code/./a.js", "invalid path"],
  ["is long", `code/${"d/".repeat(10)}${"x".repeat(1_000)}`, "a name that is too long"],
  ["has a long part", `code/${"x".repeat(256)}`, "invalid path"],
  ["has a part that is long in bytes", `code/${"ä".repeat(128)}`, "invalid path"],
  ["lies deep", `${"d/".repeat(40)}a.js`, "too deep"],
  ["is empty", "", "without a name"],
];

const TWICE: readonly [what: string, names: readonly string[], problem: string][] = [
  ["by the same name", ["code/a.js", "code/a.js"], "two entries for"],
  ["by a name with a dot in front", ["code/a.js", "./code/a.js"], "two entries for"],
  ["by case", ["code/a.js", "code/A.js"], "two entries for"],
  ["by a folder's case", ["code/a.js", "Code/b.js"], "two entries for"],
  ["by another way to write a letter", ["code/\u00e9.js", "code/e\u0301.js"], "two entries for"],
  ["by letters that are one in capitals", ["code/stra\u00dfe.js", "code/STRASSE.js"], "two entries for"],
  ["as a file and as a folder", ["code/a", "code/a/b.js"], "both as a file and as a folder"],
  ["as a folder and as a file", ["code/a/b.js", "code/a"], "both as a file and as a folder"],
];

/** A file whose content is another file of the archive, header and all. */
const QUOTED: ZipPart = { name: "b", data: "b", isStored: true };
const QUOTING: ZipPart = { name: "a", data: buildZip([QUOTED]).subarray(0, 32), isStored: true };

const BROKEN: readonly [what: string, parts: readonly ZipPart[], end: ZipEnd, problem: string][] = [
  ["has another checksum", [{ ...MODULE, both: { crc: 1 } }], {}, "its checksum is another"],
  ["is longer than it says", [{ ...MODULE, both: { bytes: 5 } }], {}, "is packed wrongly"],
  ["is shorter than it says", [{ ...MODULE, both: { bytes: 50 } }], {}, "is not as long as the archive says"],
  ["is not packed as it says", [{ ...MODULE, packed: Buffer.from([7, 7, 7]) }], {}, "is packed wrongly"],
  [
    "has something behind its data",
    [{ ...MODULE, packed: Buffer.from("0300616263", "hex"), data: "" }],
    {},
    "is packed wrongly",
  ],
  ["is stored at another size", [{ ...MODULE, isStored: true, both: { bytes: 1 } }], {}, "cannot be read"],
  ["is encrypted", [{ ...MODULE, both: { flags: 0x0801 } }], {}, "is encrypted"],
  ["is strongly encrypted", [{ ...MODULE, both: { flags: 0x0841 } }], {}, "cannot be read"],
  ["hides its header", [{ ...MODULE, both: { flags: 0x2800 } }], {}, "is encrypted"],
  ["is a patch", [{ ...MODULE, both: { flags: 0x0820 } }], {}, "in a way that is not read"],
  ["is packed with bzip2", [{ ...MODULE, both: { method: 12 } }], {}, "in a way that is not read"],
  ["is a symbolic link", [{ ...MODULE, central: { attributes: MODE_LINK } }], {}, "is a link or a device"],
  [
    "is a link, whatever made it",
    [{ ...MODULE, central: { attributes: MODE_LINK, madeBy: 0x0014 } }],
    {},
    "is a link or a device",
  ],
  ["is a device", [{ ...MODULE, central: { attributes: 0o060666 * 0x10000 } }], {}, "is a link or a device"],
  ["is a pipe", [{ ...MODULE, central: { attributes: 0o010666 * 0x10000 } }], {}, "is a link or a device"],
  [
    "is a folder by its mode and a file by its name",
    [{ ...MODULE, central: { attributes: 0o040755 * 0x10000 } }],
    {},
    "both a file and a folder",
  ],
  ["is a folder with content", [{ ...CONTENT, name: "code/" }], {}, "a folder with content"],
  [
    "has another name before its data",
    [{ ...MODULE, local: { name: "code/function.ts" } }],
    {},
    "one thing in the archive's directory",
  ],
  [
    "has another size before its data",
    [{ ...MODULE, local: { packedBytes: 3 } }],
    {},
    "one thing in the archive's directory",
  ],
  [
    "is packed in another way before its data",
    [{ ...MODULE, local: { method: 0 } }],
    {},
    "one thing in the archive's directory",
  ],
  ["lies outside the archive", [{ ...MODULE, central: { offset: 1_000_000 } }], {}, "cannot be read"],
  ["reaches into the directory", [{ ...MODULE, isStored: true, both: { bytes: 80, packedBytes: 80 } }], {}, "overlap"],
  ["shares its bytes with another", [QUOTING, { ...QUOTED, central: { offset: 31 } }], {}, "overlap"],
  [
    "lies where another does",
    [MODULE, { ...MODULE, name: "code/functio2.js", central: { offset: 0 } }],
    {},
    "one thing in the archive's directory",
  ],
  [
    "has bytes behind it that are nobody's",
    [{ ...MODULE, behind: Buffer.from("secret") }, { name: "b" }],
    {},
    "data between",
  ],
  ["has bytes before the directory", [MODULE], { gap: Buffer.from("gap") }, "data between"],
  ["has bytes before it", [MODULE], { prefix: Buffer.from("#!/bin/sh\n") }, "data between"],
  ["has bytes behind its end", [MODULE], { suffix: Buffer.from("more") }, "cannot be read"],
  ["has an end that is a comment", [MODULE], { suffix: buildZip([]) }, "is not at its declared position"],
  ["has a directory elsewhere", [MODULE], { directoryStart: 1 }, "is not at its declared position"],
  ["has a shorter directory", [MODULE], { directoryBytes: 1 }, "is not at its declared position"],
  ["has fewer entries than its directory", [MODULE, { name: "b" }], { entries: 1 }, "another length than it declares"],
  ["has more entries than its directory", [MODULE], { entries: 2 }, "cannot be read"],
  ["has no entries", [MODULE], { entries: 0 }, "another length than it declares"],
  ["has far too many in the wide form", [MODULE], { wide: { entries: 2n ** 52n } }, "more than 10000 entries"],
  ["has its wide end elsewhere", [MODULE], { wide: { at: 0n } }, "cannot be read"],
  ["has its wide end beyond itself", [MODULE], { wide: { at: 2n ** 60n } }, "cannot be read"],
  [
    "has its wide directory beyond itself",
    [MODULE],
    { wide: { directoryStart: 2n ** 63n } },
    "is not at its declared position",
  ],
  ["has two ends that differ", [MODULE], { wide: true, entries: 2 }, "two different positions"],
  ["has a comment that is not there", [MODULE], { commentBytes: 7 }, "cannot be read"],
];

describe("a zip archive is refused, and nothing of it is left [C78],", () => {
  async function refused(parts: readonly ZipPart[], end: ZipEnd, problem: string): Promise<void> {
    const left = await watchTemporary();
    const error = await refusalOf(openArchive("tool.zip", buildZip(parts, end)));
    expect(error).toMatchObject({ code: "load_error", details: { package: "tool", step: "extract" } });
    expect(error.message).toMatch(/^package "tool": extract: /);
    expect(error.message).toContain(problem);
    expect(error.message).not.toContain(process.env["TMPDIR"]);
    expect(await left()).toEqual([]);
  }

  test.each(NAMES)("where a name %s", async (_what, name, problem) => {
    await refused([MODULE, { ...CONTENT, name }], {}, problem);
  });

  test("where a name is not the UTF-8 that it says it is", async () => {
    const name = Buffer.from([0x63, 0xff, 0xfe]);
    await refused([MODULE, { ...CONTENT, name: "x", both: { name } }], {}, "control or reserved character");
  });

  test("where another name for the same entry leads out", async () => {
    const field = Buffer.concat([Buffer.alloc(9), Buffer.from("../evil.js")]);
    field.writeUInt16LE(0x7075, 0);
    field.writeUInt16LE(field.length - 4, 2);
    field.writeUInt8(1, 4);
    field.writeUInt32LE(crc32("code/a.js"), 5);
    await refused([MODULE, { ...CONTENT, name: "code/a.js", both: { extra: field } }], {}, "leads out");
  });

  test.each(TWICE)("where something is there twice %s", async (_what, names, problem) => {
    await refused(
      names.map((name) => ({ ...CONTENT, name })),
      {},
      problem,
    );
  });

  test.each(BROKEN)("where it %s", async (_what, parts, end, problem) => refused(parts, end, problem));

  test("where it is cut off anywhere", async () => {
    const whole = buildZip([MODULE]);
    const left = await watchTemporary();
    for (let length = 0; length < whole.length; length++) {
      await refusalOf(openArchive("tool.zip", whole.subarray(0, length)));
    }
    expect(await left()).toEqual([]);
  });

  test("where it holds far more than its size tells", async () => {
    const bomb = { name: "code/zeros.js", data: Buffer.alloc(32 * 1024 * 1024) };
    await refused([MODULE, bomb], {}, "too much for its size");
  });

  test("where a bomb says that it is small", async () => {
    const bomb = { name: "code/zeros.js", data: Buffer.alloc(32 * 1024 * 1024), both: { bytes: 1_000 } };
    await refused([MODULE, bomb], {}, "is packed wrongly");
  });

  test("where it is larger than packages may be, packed or unpacked", async () => {
    const context = newContext({ maxBytes: 1_000 });
    const random = {
      name: "code/a.js",
      data: Buffer.from(Array.from({ length: 2_000 }, (_, at) => at % 251)),
      isStored: true,
    };
    const packed = await refusalOf(openArchive("tool.zip", buildZip([MODULE, random]), context));
    expect(packed.message).toContain("larger than 1000 bytes");
    const zeros = { name: "code/a.js", data: Buffer.alloc(2_000) };
    const unpacked = await refusalOf(openArchive("tool.zip", buildZip([MODULE, zeros]), context));
    expect(unpacked.message).toContain("more than 1000 bytes");
  });

  test("where a few entries stand for many folders", async () => {
    const parts = Array.from({ length: 400 }, (_, at) => ({ name: `${at}/${"d/".repeat(30)}a`, isStored: true }));
    await refused(parts, {}, "more than 10000 entries");
  });

  test("where it has a hundred thousand entries", async () => {
    const parts = Array.from({ length: 100_000 }, (_, at) => ({ name: `${at}`, isStored: true }));
    await refused(parts, { wide: true }, "more than 10000 entries");
  });
});
