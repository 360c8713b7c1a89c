import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { refusalOf } from "../temporary.ts";
import { attributes, buildTar, buildTarGz, type TarPart } from "./build-tar.ts";
import { filesIn, newContext, openArchive, watchTemporary } from "./opening.ts";

const MODULE: TarPart = { name: "code/function.js", data: "export default () => 1;" };
const LONG = `code/${"long/".repeat(30)}name.js`;

async function opened(bytes: Buffer): Promise<Record<string, string>> {
  await using found = await openArchive("tool.tar.gz", bytes);
  return await filesIn(found.folder);
}

describe("a tar archive is unpacked", () => {
  test.each(["tool.tar.gz", "tool.tgz"])("as %s [C06]", async (name) => {
    const left = await watchTemporary();
    const parts = [
      { name: "./", type: "5" },
      { name: "./code/", type: "5" },
      { ...MODULE, name: "./code/function.js" },
    ];
    const found = await openArchive(name, buildTarGz(parts));
    expect(await filesIn(found.folder)).toEqual({ "code/function.js": MODULE.data });
    expect(found).toMatchObject({ name: "tool", layout: { runtime: "javascript", entry: "code/function.js" } });
    await found[Symbol.asyncDispose]();
    expect(await left()).toEqual([]);
  });

  test.each([
    ["of POSIX", attributes({ path: LONG })],
    ["of GNU", { name: "././@LongLink", type: "L", data: `${LONG}\0` }],
  ])("with the long names %s", async (_what, before) => {
    const files = await opened(buildTarGz([MODULE, before, { name: "code/cut", data: "1" }]));
    expect(files).toEqual({ "code/function.js": MODULE.data, [LONG]: "1" });
  });

  test("with the attributes that say nothing of its content, and files of the oldest type", async () => {
    const global = attributes({ comment: "0123456789abcdef" }, "g");
    const own = attributes({ mtime: "1700000000.123456789", "LIBARCHIVE.creationtime": "1700000000" });
    expect(await opened(buildTarGz([global, own, { ...MODULE, type: "\0" }]))).toEqual({
      "code/function.js": MODULE.data,
    });
  });

  test("with modes that are ours, whatever it says", async () => {
    expect(Object.keys(await opened(buildTarGz([{ ...MODULE, mode: 0o6777 }])))).toEqual(["code/function.js"]);
  });
});

const FILE: TarPart = { name: "code/a.js", data: "x" };
const WITH: readonly [what: string, parts: readonly TarPart[], problem: string][] = [
  ["a name that leads out", [{ ...FILE, name: "../evil.js" }], "leads out of the package"],
  ["a name that is absolute", [{ ...FILE, name: "/tmp/evil.js" }], "absolute path"],
  ["a name with backslashes", [{ ...FILE, name: "C:\\evil.js" }], "control or reserved character"],
  ["a long name that leads out", [attributes({ path: "../evil.js" }), FILE], "leads out of the package"],
  ["a long name that holds a NUL", [attributes({ path: "code/a\0.js" }), FILE], "control or reserved character"],
  ["a long name of GNU's that leads out", [{ name: "L", type: "L", data: "../evil.js\0" }, FILE], "leads out"],
  ["a name for all that leads out", [attributes({ path: "../evil.js" }, "g"), FILE], "leads out of the package"],
  ["a name twice", [FILE, FILE], "two entries for"],
  ["a name twice by case", [FILE, { ...FILE, name: "code/A.js" }], "two entries for"],
  ["a file where a folder is needed", [FILE, { ...FILE, name: "code/a.js/b.js" }], "both as a file and as a folder"],
  ["a symbolic link", [{ name: "code/a", type: "2", link: "/etc/passwd" }], "is a symbolic link"],
  ["a hard link", [{ name: "code/a", type: "1", link: "code/function.js" }], "is a hard link"],
  ["a long link", [{ name: "L", type: "K", data: "/etc/passwd\0" }, FILE], "is a link with a long name"],
  ["a device of characters", [{ name: "code/a", type: "3" }], "is a device"],
  ["a device of blocks", [{ name: "code/a", type: "4" }], "is a device"],
  ["a pipe", [{ name: "code/a", type: "6" }], "is a pipe"],
  ["a sparse file of GNU's", [{ ...FILE, type: "S" }], "is a sparse file"],
  [
    "a sparse file of POSIX's",
    [attributes({ "GNU.sparse.major": "1", "GNU.sparse.realsize": "99" }), FILE],
    "GNU.sparse",
  ],
  ["a file of a kind that nobody knows", [{ ...FILE, type: "7" }], 'of the type "7"'],
  ["a folder with content", [{ name: "code/b/", type: "5", data: "x" }], "a folder with content"],
  ["a file without a name", [{ ...FILE, name: "" }], "has no name"],
  ["a checksum that is wrong", [{ ...FILE, checksum: "000000\0 " }], "checksum"],
  ["a size beyond its end", [{ ...FILE, size: "77777777777\0" }], "is truncated"],
  ["a size in the wide form", [{ ...FILE, size: "\x80\0\0\0\0\0\0\0\0\0\0\x01" }], "does not say how long it is"],
  ["a size that is no number", [{ ...FILE, size: "-1\0\0\0\0\0\0\0\0\0\0" }], "does not say how long it is"],
  ["a size among its attributes", [attributes({ size: "512" }), FILE], ""],
  ["the target of a link among its attributes", [attributes({ linkpath: "/etc" }), FILE], "linkpath"],
  ["attributes that are too long", [{ ...attributes({ comment: "x".repeat(70_000) }) }, FILE], "too long attributes"],
];

describe("a tar archive is refused, and nothing of it is left [C78],", () => {
  async function refused(bytes: Buffer, problem: string): Promise<void> {
    const left = await watchTemporary();
    const error = await refusalOf(openArchive("tool.tar.gz", bytes));
    expect(error).toMatchObject({ code: "load_error", details: { package: "tool", step: "extract" } });
    expect(error.message).toMatch(/^package "tool": extract: /);
    expect(error.message).toContain(problem);
    expect(await left()).toEqual([]);
  }

  test.each(WITH)("with %s", async (_what, parts, problem) => refused(buildTarGz([MODULE, ...parts]), problem));

  test("without the blocks at its end", async () => refused(gzipSync(buildTar([MODULE], 0)), "is truncated"));

  test("with only one of the blocks at its end", async () => refused(gzipSync(buildTar([MODULE], 1)), "truncated"));

  test("with something behind the blocks at its end", async () => {
    await refused(gzipSync(Buffer.concat([buildTar([MODULE]), buildTar([FILE])])), "Invalid EOF");
  });

  test("as two gzip files in one, whether the second holds something or not", async () => {
    const whole = buildTar([MODULE]);
    const [one, other] = [gzipSync(whole.subarray(0, 512)), gzipSync(whole.subarray(512))];
    await refused(Buffer.concat([one, other]), "data after its gzip stream");
    await refused(Buffer.concat([gzipSync(whole), gzipSync("")]), "data after its gzip stream");
  });

  test("with something behind the gzip file", async () => {
    await refused(Buffer.concat([buildTarGz([MODULE]), Buffer.from("12345678more")]), "gzip file");
  });

  test("that is not packed, or packed as something else", async () => {
    await refused(buildTar([MODULE]), "is not a gzip file");
    await refused(Buffer.from("PK\x03\x04"), "is not a gzip file");
    await refused(Buffer.alloc(0), "is not a gzip file");
  });

  test("that is cut off anywhere", async () => {
    const left = await watchTemporary();
    const whole = buildTarGz([MODULE]);
    for (let length = 0; length < whole.length; length++) {
      await refusalOf(openArchive("tool.tgz", whole.subarray(0, length)));
    }
    expect(await left()).toEqual([]);
  });

  test("that holds far more than its size tells", async () => {
    await refused(
      buildTarGz([MODULE, { name: "code/zeros.js", data: Buffer.alloc(32 * 1024 * 1024) }]),
      "too much for",
    );
  });

  test("that is larger unpacked than packages may be", async () => {
    const bytes = buildTarGz([MODULE, { name: "code/zeros.js", data: Buffer.alloc(20_000) }]);
    const error = await refusalOf(openArchive("tool.tgz", bytes, newContext({ maxBytes: 10_000 })));
    expect(error.message).toContain("more than 10000 bytes");
  });

  test("with a hundred thousand entries", async () => {
    const header = buildTar([{ name: "a", data: "" }], 0);
    // Not packed at all, so that it is not refused for how well it packs.
    await refused(
      gzipSync(Buffer.concat(Array<Buffer>(100_000).fill(header)), { level: 0 }),
      "more than 10000 entries",
    );
  });
});
