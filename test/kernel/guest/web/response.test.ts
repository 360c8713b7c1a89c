import { expect, test } from "vitest";
import { openRealm } from "../in-realm.ts";
import { inTool } from "./in-tool.ts";

test("a response has the standard's defaults", async () => {
  const found = await inTool(`
    const r = new Response();
    return [r.status, r.statusText, r.ok, r.type, r.url, r.redirected, [...r.headers], r.body, r.bodyUsed, await r.text(), r.bodyUsed];
  `);
  expect(found).toEqual([200, "", true, "default", "", false, [], null, false, "", false]);
});

test("its statics make errors, redirects and JSON", async () => {
  const found = await inTool(`
    const [e, r, j] = [Response.error(), Response.redirect("https://a.example/b c", 301), Response.json({ a: 1 }, { status: 201 })];
    return [[e.type, e.status, e.ok], [r.status, r.headers.get("location")], [j.status, j.headers.get("content-type"), await j.json()],
      Response.json([], { headers: { "content-type": "a/b" } }).headers.get("content-type"), Response.redirect("a:b").status];
  `);
  expect(found).toEqual([
    ["error", 0, false],
    [301, "https://a.example/b%20c"],
    [201, "application/json", { a: 1 }],
    "a/b",
    302,
  ]);
});

test("what no response can be is refused", async () => {
  const names = await inTool(`
    return Promise.all([() => new Response("", { status: 199 }), () => new Response("", { status: 600 }),
      () => new Response("", { status: "x" }), () => Response.redirect("a:b", 200), () => new Response("a", { status: 204 }),
      () => new Response("", { statusText: "a\\n" }), () => new Response("", { headers: null }), () => Response.redirect("//"),
      () => Response.json(), () => Response.json(Symbol()), () => new Response("", 1), () => Response(),
      () => Response.error().headers.set("a", "b"), () => Response.redirect("a:b").headers.delete("location"),
      () => Response.prototype.text.call({}), () => Response.prototype.clone.call({}),
    ].map(thrown));
  `);
  expect(names).toEqual([...Array<string>(4).fill("RangeError"), ...Array<string>(12).fill("TypeError")]);
});

test.each([
  ["text", "'é'", "text/plain;charset=UTF-8", "é"],
  ["a number", "1", "text/plain;charset=UTF-8", "1"],
  ["URLSearchParams", "new URLSearchParams('a=ä')", "application/x-www-form-urlencoded;charset=UTF-8", "a=%C3%A4"],
  ["a Blob", "new Blob(['x'], { type: 'a/b' })", "a/b", "x"],
  ["a Blob without type", "new Blob(['x'])", null, "x"],
  ["an ArrayBuffer", "new Uint8Array([120]).buffer", null, "x"],
  ["a view", "new Uint8Array([119, 120]).subarray(1)", null, "x"],
  ["a stream", "new Blob(['x']).stream()", null, "x"],
])("%s gives a body and its type", async (_name, body, type, text) => {
  const found = await inTool(`
    const r = new Response(${body});
    return [r.headers.get("content-type"), await r.text()];
  `);
  expect(found).toEqual([type, text]);
});

test("a body is read once", async () => {
  const found = await inTool(`
    const r = new Response("abc");
    const before = r.bodyUsed;
    const text = r.text();
    return [before, r.bodyUsed, await text, await thrown(() => r.text()), await thrown(() => r.json()), await thrown(() => r.clone()),
      r.body.locked, await thrown(() => r.body.getReader())];
  `);
  expect(found).toEqual([false, true, "abc", "TypeError", "TypeError", "TypeError", true, "TypeError"]);
});

test("a body whose stream somebody reads cannot be read otherwise", async () => {
  const found = await inTool(`
    const [locked, read, cancelled] = [new Response("a"), new Response("b"), new Response("c")];
    locked.body.getReader();
    const reader = read.body.getReader();
    await reader.read();
    reader.releaseLock();
    await cancelled.body.cancel();
    return Promise.all([locked, read, cancelled].map(async (r) => [r.bodyUsed, await thrown(() => r.text()), await thrown(() => r.clone())]));
  `);
  expect(found).toEqual([
    [false, "TypeError", "TypeError"],
    [true, "TypeError", "TypeError"],
    [true, "TypeError", "TypeError"],
  ]);
});

test("every form of a body has the same bytes", async () => {
  const found = await inTool(`
    const make = () => new Response('{"a":"é"}', { headers: { "content-type": 'Text/X; Charset="a b"' } });
    const blob = await make().blob();
    const text = await make().text();
    return [text, (await make().json()).a, (await make().bytes()).length, (await make().arrayBuffer()).byteLength, blob.size, blob.type];
  `);
  expect(found).toEqual(['{"a":"é"}', "é", 10, 10, 10, 'text/x;charset="a b"']);
});

test("what is no JSON is a SyntaxError", async () => {
  expect(await inTool(`return thrown(() => new Response("{").json())`)).toBe("SyntaxError");
});

test("a clone has headers and a body of its own", async () => {
  const found = await inTool(`
    const r = new Response("abc", { status: 201, statusText: "x", headers: { a: "1" } });
    const c = r.clone();
    c.headers.set("a", "2");
    const streamed = new Response(new Blob(["def"]).stream());
    const other = streamed.clone();
    return [c.status, c.statusText, r.headers.get("a"), await r.text(), await c.text(), await other.text(), await streamed.text()];
  `);
  expect(found).toEqual([201, "x", "1", "abc", "abc", "def", "def"]);
});

test("what is written to a chunk of a body is not in its clone", async () => {
  const found = await inTool(`
    const own = new ReadableStream({ start(c) { c.enqueue(Uint8Array.of(1, 2)); c.close(); } });
    const response = new Response(own);
    const [clone, second] = [response.clone(), response.clone()];
    const { value } = await response.body.getReader().read();
    value.fill(9);
    return [[...await clone.bytes()], [...await second.bytes()], [...value]];
  `);
  expect(found).toEqual([
    [1, 2],
    [1, 2],
    [9, 9],
  ]);
});

test("the clone of a body of other chunks has structured clones of them", async () => {
  const found = await inTool(`
    const chunks = [Float32Array.of(1), { a: [1] }];
    const response = new Response(new ReadableStream({ start(c) { chunks.forEach((chunk) => c.enqueue(chunk)); c.close(); } }));
    const readers = [response.clone(), response].map(({ body }) => body.getReader());
    const [[clone, other], [own, same]] = await Promise.all(readers.map(async (r) => [(await r.read()).value, (await r.read()).value]));
    const ends = await Promise.all(readers.map((r) => r.read()));
    return [own === chunks[0], same === chunks[1], clone === own, other === same, [...clone], other, ends.map(({ done }) => done)];
  `);
  expect(found).toEqual([true, true, false, false, [1], { a: [1] }, [true, true]]);
});

test("a chunk that cannot be cloned ends both bodies and cancels the stream", async () => {
  const found = await inTool(`
    let reason;
    const stream = new ReadableStream({ start(c) { c.enqueue(() => 1); }, cancel(given) { reason = given.name; } });
    const response = new Response(stream);
    const clone = response.clone();
    return [await thrown(() => response.body.getReader().read()), await thrown(() => clone.body.getReader().read()), reason];
  `);
  expect(found).toEqual(["DataCloneError", "DataCloneError", "DataCloneError"]);
});

test("a stream is cancelled once all clones of its body are", async () => {
  const found = await inTool(`
    const reasons = [];
    const failing = new Response(new ReadableStream({ pull() { throw new RangeError("mine"); } }));
    const response = new Response(new ReadableStream({ cancel(given) { reasons.push(given); } }));
    const clone = response.clone();
    const failingClone = failing.clone();
    const first = clone.body.cancel("a");
    const before = [...reasons];
    await Promise.all([first, response.body.cancel("b")]);
    return [before, reasons, await thrown(() => failing.text()), await thrown(() => failingClone.text())];
  `);
  expect(found).toEqual([[], [["b", "a"]], "RangeError", "RangeError"]);
});

test("a form in a body keeps a byte order mark, and an error of the body comes before one of its type", async () => {
  const found = await inTool(`
    const type = { headers: { "content-type": "application/x-www-form-urlencoded" } };
    const form = await new Response("\ufeffa=\ufeff", type).formData();
    const failing = new Response(new ReadableStream({ pull() { throw new RangeError("mine"); } }));
    return [[...form], await thrown(() => failing.formData()), await thrown(() => new Response("a").formData())];
  `);
  expect(found).toEqual([[["\ufeffa", "\ufeff"]], "RangeError", "TypeError"]);
});

test("a data: URL has no body for HEAD, and a scheme that nobody speaks fails without the host", async () => {
  const found = await inTool(`
    const head = await fetch("data:,abc", { method: "HEAD" });
    return [await head.text(), head.headers.get("content-type"), await thrown(() => fetch("about:blank"))];
  `);
  expect(found).toEqual(["", "text/plain;charset=US-ASCII", "TypeError"]);
});

test("a stream that gives something else than bytes is refused when it is read", async () => {
  const found = await inTool(`
    const stream = new ReadableStream({ start(c) { c.enqueue("text"); c.close(); } });
    const failing = new ReadableStream({ pull() { throw new RangeError("mine"); } });
    return [await thrown(() => new Response(stream).text()), await thrown(() => new Response(failing).text())];
  `);
  expect(found).toEqual(["TypeError", "RangeError"]);
});

test("the console shows what objects around a response have, and does not read them", async () => {
  using realm = await openRealm(`async () => {
    const headers = new Headers({ b: "1", a: "2" });
    const file = new File(["x"], "n", { type: "t/u", lastModified: 3 });
    const form = new FormData();
    form.append("k", "v");
    const response = new Response("abc", { headers });
    const request = new Request("https://a.example", { method: "PUT", body: "x" });
    for (const value of [headers, new Headers(), file, new Blob(), form, response, request]) console.log(value);
    return [response.bodyUsed, request.bodyUsed];
  }`);
  expect(realm.call()).toEqual([false, false]);
  const lines = realm.emitted
    .filter(([kind]) => kind === 1)
    .map(([, , , line]) => String(line).replaceAll(/\s+/g, " "));
  const headers = "Headers { a: '2', b: '1', 'content-type': 'text/plain;charset=UTF-8' }";
  expect(lines).toEqual([
    "Headers { a: '2', b: '1' }",
    "Headers {}",
    "File { size: 1, type: 't/u', name: 'n', lastModified: 3 }",
    "Blob { size: 0, type: '' }",
    "FormData { fields: [ { name: 'k', value: 'v' } ] }",
    "Response { status: 200, statusText: '', ok: true, url: '', redirected: false, type: 'default', " +
      `headers: ${headers}, bodyUsed: false }`,
    "Request { method: 'PUT', url: 'https://a.example/', headers: Headers { 'content-type': 'text/plain;charset=UTF-8' }, " +
      "redirect: 'follow', bodyUsed: false }",
  ]);
});
