import { expect, test } from "vitest";
import { inTool } from "./in-tool.ts";

test("a blob joins text, bytes and blobs", async () => {
  const found = await inTool(`
    const bytes = new Uint8Array([1, 2, 3, 4]);
    const blob = new Blob(["aé", bytes.subarray(1, 3), bytes.buffer, new Blob(["z"]), 7], { type: "Text/PLAIN" });
    bytes.fill(0);
    return [[...await blob.bytes()], blob.size, blob.type, Object.prototype.toString.call(blob)];
  `);
  expect(found).toEqual([[97, 195, 169, 2, 3, 1, 2, 3, 4, 122, 55], 11, "text/plain", "[object Blob]"]);
});

test("a blob cannot be changed through what it gives out", async () => {
  const found = await inTool(`
    const blob = new Blob(["abc"]);
    (await blob.bytes()).fill(0);
    new Uint8Array(await blob.arrayBuffer()).fill(0);
    for await (const piece of blob.stream()) piece.fill(0);
    return blob.text();
  `);
  expect(found).toBe("abc");
});

test.each([
  [[], "abcdef"],
  [[2], "cdef"],
  [[-2], "ef"],
  [[1, -1], "bcde"],
  [[4, 2], ""],
  [[-100, 100], "abcdef"],
  [["2", "4"], "cd"],
  [[1.9, 3.9], "bc"],
])("slice(%j) gives %s", async (range, text) => {
  expect(await inTool(`return new Blob(["abcdef"]).slice(...input).text()`, range)).toBe(text);
});

test("types that no type could be are left out", async () => {
  const types = await inTool(`
    const slice = new Blob(["a"], { type: "a/b" }).slice(0, 1);
    return [new Blob([], { type: "é" }).type, new Blob([], { type: null }).type, slice.type,
      new Blob(["a"]).slice(0, 1, "C/D").type];
  `);
  expect(types).toEqual(["", "null", "", "c/d"]);
});

test("line ends are native where that is wanted", async () => {
  expect(await inTool(`return new Blob(["a\\r\\nb\\rc\\n"], { endings: "native" }).text()`)).toBe("a\nb\nc\n");
});

test("lone surrogates and malformed bytes become replacement characters", async () => {
  const texts = await inTool(
    `return [await new Blob(["\\ud800"]).text(), await new Blob([new Uint8Array([255])]).text()]`,
  );
  expect(texts).toEqual(["\ufffd", "\ufffd"]);
});

test("what no blob can be made from is refused", async () => {
  const names = await inTool(`
    return Promise.all([() => new Blob(null), () => new Blob("a"), () => new Blob(1), () => new Blob({}), () => Blob(),
      () => new Blob([], { endings: "mine" }), () => new Blob([], 1), () => new File(), () => new File([]),
      () => new File(undefined, "a"), () => new Blob([Symbol()]), () => Blob.prototype.text.call({}),
    ].map(thrown));
  `);
  expect(names).toEqual(Array.from({ length: 12 }, () => "TypeError"));
});

test("a file is a blob with a name and a time", async () => {
  const found = await inTool(`
    const file = new File(["a"], "n/ä.txt", { type: "text/x", lastModified: 5.7 });
    return [file.name, file.size, file.type, file.lastModified, file instanceof Blob, file.webkitRelativePath,
      new File([], "").lastModified, Object.prototype.toString.call(file)];
  `);
  expect(found).toEqual(["n/ä.txt", 1, "text/x", 5, true, "", 1_000, "[object File]"]);
});

test("structuredClone copies blobs and files, and refuses what has state of its own", async () => {
  const found = await inTool(`
    const { file, blob } = structuredClone({ file: new File(["ab"], "f", { lastModified: 3, type: "x/y" }), blob: new Blob(["c"]) });
    const refused = [new Headers(), new Request("a:"), new Response(), new FormData(), new ReadableStream(), new WritableStream(),
      new TransformStream(), new TextDecoderStream()];
    return [file instanceof File, file.name, file.type, file.lastModified, await file.text(), blob instanceof File,
      await blob.text(), await Promise.all(refused.map((value) => thrown(() => structuredClone(value))))];
  `);
  const refused = Array.from({ length: 8 }, () => "DataCloneError");
  expect(found).toEqual([true, "f", "x/y", 3, "ab", false, "c", refused]);
});

test("parts are read before options, each once and in order", async () => {
  const found = await inTool(`
    const read = [];
    const part = (name) => ({ toString() { read.push(name); return name; } });
    const parts = { get [Symbol.iterator]() { read.push("iterator"); return () => [part("a"), part("b")].values(); } };
    const options = { get endings() { read.push("endings"); return "native"; }, get type() { read.push("type"); return "t"; } };
    return [await new Blob(parts, options).text(), read];
  `);
  expect(found).toEqual(["ab", ["iterator", "a", "b", "endings", "type"]]);
});
