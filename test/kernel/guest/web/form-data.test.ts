import { expect, test } from "vitest";
import { inTool } from "./in-tool.ts";

test("fields keep their order, and set takes the place of the first", async () => {
  const found = await inTool(`
    const form = new FormData();
    form.append("a", "1"); form.append("b", 2); form.append("a", "3"); form.append("c", "4");
    const all = form.getAll("a");
    form.set("a", "5"); form.delete("b"); form.set("d", "6");
    return [all, [...form], form.get("none"), form.has("a"), [...form.keys()], [...form.values()]];
  `);
  const entries = [
    ["a", "5"],
    ["c", "4"],
    ["d", "6"],
  ];
  expect(found).toEqual([["1", "3"], entries, null, true, ["a", "c", "d"], ["5", "4", "6"]]);
});

test("blobs become files, and files can get another name", async () => {
  const found = await inTool(`
    const form = new FormData();
    form.append("a", new Blob(["x"], { type: "t/u" }));
    form.append("b", new File(["y"], "y.txt", { lastModified: 4 }), "z.txt");
    const file = new File([], "same");
    form.append("c", file);
    return [...form.values()].map((value) => [value instanceof File, value.name, value.type, value === file]).concat(form.get("b").lastModified);
  `);
  expect(found).toEqual([[true, "blob", "t/u", false], [true, "z.txt", "", false], [true, "same", "", true], 4]);
});

test("what no field can be is refused", async () => {
  const names = await inTool(`
    const form = new FormData();
    return Promise.all([() => form.append("a"), () => form.append("a", "b", "c"), () => new FormData({}), () => form.get(),
      () => form.append("a", Symbol()), () => form.forEach(1), () => FormData.prototype.get.call({}, "a")].map(thrown));
  `);
  expect(names).toEqual(Array.from({ length: 7 }, () => "TypeError"));
});

test("a form comes through a response as it was", async () => {
  const found = await inTool(`
    const form = new FormData();
    form.append('q"\\n', "ä\\nb\\r\\nc");
    form.append("empty", "");
    form.append("f", new File([new Uint8Array([0, 255, 13, 10, 45, 45])], 'n"ü.bin', { type: "a/b" }));
    form.append("none", new File([], ""));
    const back = await new Response(form).formData();
    return Promise.all([...back].map(async ([name, value]) =>
      [name, typeof value === "string" ? value : [value.name, value.type, ...await value.bytes()]]));
  `);
  expect(found).toEqual([
    ['q"\r\n', "ä\r\nb\r\nc"],
    ["empty", ""],
    ["f", ['n"ü.bin', "a/b", 0, 255, 13, 10, 45, 45]],
    ["none", ["", "application/octet-stream"]],
  ]);
});

test("multipart is read as others write it", async () => {
  const found = await inTool(
    `
    const type = 'Multipart/Form-Data; charset=x; boundary="a b"';
    const form = await new Response(input, { headers: { "content-type": type } }).formData();
    return Promise.all([...form].map(async ([name, value]) =>
      [name, typeof value === "string" ? value : [value.name, value.type, await value.text()]]));
  `,
    [
      "--a b\r\ncontent-disposition:form-data;name=a\r\n\r\n1\r\n--a b\r\nX-Other: 1\r\nContent-Type: Text/CSV\r\n",
      'Content-Disposition: form-data; name="f"; filename="x.csv"\r\n\r\n1,2\r\n\r\n--a b\r\n',
      'Content-Disposition: form-data; name="g"; filename=""\r\n\r\n\r\n--a b--',
    ].join(""),
  );
  expect(found).toEqual([
    ["a", "1"],
    ["f", ["x.csv", "text/csv", "1,2\r\n"]],
    ["g", ["", "text/plain", ""]],
  ]);
});

test("text that looks like a field name inside a file's name is not a field name", async () => {
  const body = '--a\r\nContent-Disposition: form-data; filename="x; name=y"; name="z"\r\n\r\n1\r\n--a--';
  const found = await inTool(
    `const type = "multipart/form-data; boundary=a";
    const form = await new Response(input, { headers: { "content-type": type } }).formData();
    return [...form].map(([name, file]) => [name, file.name]);`,
    body,
  );
  expect(found).toEqual([["z", "x; name=y"]]);
});

test("urlencoded bodies are read as forms", async () => {
  const found = await inTool(`
    const headers = { "content-type": "application/x-www-form-urlencoded;charset=UTF-8" };
    return [...await new Response("a=1&b=%C3%A4+c&&d", { headers }).formData()];
  `);
  expect(found).toEqual([
    ["a", "1"],
    ["b", "ä c"],
    ["d", ""],
  ]);
});

test.each([
  ["no type", "", "a=1"],
  ["another type", "text/plain", "a=1"],
  ["no boundary", "multipart/form-data", "--a--"],
  ["another boundary", "multipart/form-data; boundary=b", "--a--"],
  ["no end", "multipart/form-data; boundary=a", '--a\r\nContent-Disposition: form-data; name="a"\r\n\r\n1'],
  ["no name", "multipart/form-data; boundary=a", "--a\r\nContent-Disposition: form-data\r\n\r\n1\r\n--a--"],
  ["no disposition", "multipart/form-data; boundary=a", "--a\r\nContent-Type: a/b\r\n\r\n1\r\n--a--"],
  ["nothing", "multipart/form-data; boundary=a", ""],
  ["no line after the boundary", "multipart/form-data; boundary=a", "--ab"],
])("a body with %s is no form", async (_name, type, body) => {
  const name = await inTool(
    `return thrown(() => new Response(input.body, { headers: { "content-type": input.type } }).formData())`,
    { type, body },
  );
  expect(name).toBe("TypeError");
});
