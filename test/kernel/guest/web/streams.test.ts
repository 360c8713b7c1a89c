import { expect, test } from "vitest";
import { openRealm } from "../in-realm.ts";
import { inTool } from "./in-tool.ts";

const GATHER =
  "const gather = async (stream) => { const all = []; for await (const x of stream) all.push(x); return all; };";

test("a stream is read, iterated, teed and piped", async () => {
  const found = await inTool(`${GATHER}
    const make = () => ReadableStream.from([1, 2, 3]);
    const reader = make().getReader();
    const [left, right] = make().tee();
    const written = [];
    await make().pipeTo(new WritableStream({ write: (chunk) => void written.push(chunk) }));
    const doubled = make().pipeThrough(new TransformStream({ transform: (n, c) => c.enqueue(n * 2) }));
    return [await reader.read(), await gather(make()), await gather(left), await gather(right), written, await gather(doubled)];
  `);
  expect(found).toEqual([{ value: 1, done: false }, [1, 2, 3], [1, 2, 3], [1, 2, 3], [1, 2, 3], [2, 4, 6]]);
});

test("errors and back-pressure go through a pipe", async () => {
  const found = await inTool(`
    let pulled = 0;
    const source = new ReadableStream({ pull(c) { c.enqueue(++pulled); } }, new CountQueuingStrategy({ highWaterMark: 2 }));
    await new Promise((done) => setTimeout(done, 1));
    const failing = new WritableStream({ write() { throw new RangeError("full"); } });
    const before = pulled;
    return [before, await thrown(() => source.pipeTo(failing)), await thrown(() => source.getReader().closed)];
  `);
  expect(found).toEqual([2, "RangeError", null]);
});

test("a byte stream is read into the reader's own buffer", async () => {
  const found = await inTool(`
    const stream = new ReadableStream({ type: "bytes", start(c) { c.enqueue(new Uint8Array([1, 2, 3, 4, 5])); c.close(); } });
    const reader = stream.getReader({ mode: "byob" });
    const [a, b, c] = [await reader.read(new Uint8Array(2)), await reader.read(new Uint8Array(8)), await reader.read(new Uint8Array(1))];
    return [[...a.value], [...b.value], c.done];
  `);
  expect(found).toEqual([[1, 2], [3, 4, 5], true]);
});

test("an AbortSignal ends a pipe", async () => {
  const found = await inTool(`
    const controller = new AbortController();
    const pipe = new ReadableStream().pipeTo(new WritableStream(), { signal: controller.signal });
    controller.abort(new RangeError("why"));
    return thrown(() => pipe);
  `);
  expect(found).toBe("RangeError");
});

test("text goes through the text streams, also where characters are cut", async () => {
  const found = await inTool(`${GATHER}
    const cut = ReadableStream.from([new Uint8Array([0xef, 0xbb, 0xbf, 0xe2]), new Uint8Array([0x82, 0xac, 65])]);
    const halves = ReadableStream.from(["a\\ud83d", "\\ude00", "\\ud83d"]);
    const bytes = await gather(halves.pipeThrough(new TextEncoderStream()));
    const decoder = new TextDecoderStream("utf-16le", { fatal: true, ignoreBOM: true });
    const fatal = ReadableStream.from([new Uint8Array([255])]).pipeThrough(new TextDecoderStream("utf-8", { fatal: true }));
    return [await gather(cut.pipeThrough(new TextDecoderStream())), bytes.map((b) => [...b]),
      [decoder.encoding, decoder.fatal, decoder.ignoreBOM, new TextEncoderStream().encoding], await thrown(() => gather(fatal))];
  `);
  const bytes = [[97], [240, 159, 152, 128], [239, 191, 189]];
  expect(found).toEqual([["€A"], bytes, ["utf-16le", true, true, "utf-8"], "TypeError"]);
});

/** Looks for an object that tools share, can reach from streams at work, and could change. */
const OPEN = `async () => {
  const never = new Promise(() => {});
  const pending = new ReadableStream();
  const iterator = new ReadableStream().values();
  const bytes = new ReadableStream({ type: "bytes" });
  const piped = new ReadableStream();
  const [teed] = new ReadableStream().tee();
  const [teedBytes] = new ReadableStream({ type: "bytes" }).tee();
  const stuck = new WritableStream({ write: () => never });
  const transform = new TransformStream({ transform: () => never });
  const from = ReadableStream.from([1]);
  const reader = pending.getReader();
  const writer = stuck.getWriter();
  void reader.read(); void iterator.next(); void bytes.getReader({ mode: "byob" }).read(new Uint8Array(1));
  void piped.pipeTo(new WritableStream()); void teed.getReader().read(); void teedBytes.getReader({ mode: "byob" }).read(new Uint8Array(1));
  void writer.write(1); void writer.write(2); void transform.writable.getWriter().write(1);
  await Promise.resolve();
  const text = new TextDecoderStream();
  const headers = new Headers({ a: "1" });
  const roots = [pending, reader, iterator, bytes, piped, teed, teedBytes, stuck, writer, transform, from, text, headers, headers.keys(),
    new FormData().keys(), new Response("x"), new Response("x").body, new Request("a:b").signal, new Blob(), new Blob().stream(),
    new CountQueuingStrategy({ highWaterMark: 1 }).size, new ByteLengthQueuingStrategy({ highWaterMark: 1 }).size, fetch];
  const open = [];
  const seen = new Set();
  const visit = (value, path, isShared) => {
    if (value === null || (typeof value !== "object" && typeof value !== "function") || seen.has(value)) return;
    seen.add(value);
    if (isShared && !Object.isFrozen(value)) open.push(path);
    visit(Object.getPrototypeOf(value), path + ".__proto__", true);
    for (const key of Reflect.ownKeys(value)) {
      const property = Object.getOwnPropertyDescriptor(value, key);
      for (const part of ["value", "get", "set"]) visit(property[part], path + "." + String(key), isShared);
    }
  };
  roots.forEach((root, index) => visit(root, String(index), index > 19));
  return open;
}`;

test("no object behind streams, blobs or headers can carry anything to another call", async () => {
  using realm = await openRealm(OPEN);
  expect(realm.call()).toEqual([]);
});

test("that is so also where the streams were made on a full stack", async () => {
  for (let size = 0; size < 20; size += 1) {
    // Frames of several sizes leave the streams more or less of the stack.
    const given = Array.from({ length: size }, (_, index) => `a${index}`).join();
    const dig = `function dig(${given}) { try { return dig(${given}); } catch { return ReadableStream; } }`;
    using realm = await openRealm(`async (input) => { ${dig} return input === "dig" ? void dig() : (${OPEN})(); }`);
    try {
      realm.call("dig");
    } catch (error) {
      // A promise that is made on a full stack may reject, and nobody hears.
      expect(String(error)).toContain("Maximum call stack size exceeded");
    }
    expect(realm.call()).toEqual([]);
  }
});

test("streams that one call has used work for the next", async () => {
  using realm = await openRealm(`async () => {
    const all = [];
    for await (const x of ReadableStream.from(["a"]).pipeThrough(new TextEncoderStream())) all.push(...x);
    return all;
  }`);
  expect([realm.call(), realm.call()]).toEqual([[97], [97]]);
});

test("the console shows a stream without what it keeps inside", async () => {
  using realm = await openRealm("async () => console.log(new ReadableStream(), new WritableStream().getWriter())");
  realm.call();
  const lines = realm.emitted.filter(([kind]) => kind === 1).map(([, , , line]) => line);
  expect(lines).toEqual(["ReadableStream { locked: false, state: 'readable' } WritableStreamDefaultWriter {}"]);
});

test("bytes that enter a byte stream are moved: who gave them cannot change them any more", async () => {
  const found = await inTool(`
    const [given, answered] = [Uint8Array.of(1, 2), Uint8Array.of(3)];
    const stream = new ReadableStream({ type: "bytes", start(c) { c.enqueue(given); c.enqueue(answered); c.close(); } });
    const { value } = await stream.getReader().read();
    return [given.length, given.buffer.detached, answered.length, [...value]];
  `);
  expect(found).toEqual([0, true, 0, [1, 2]]);
});

test("a reader's own buffer is moved into the stream and comes back as another", async () => {
  const found = await inTool(`
    const stream = new ReadableStream({
      type: "bytes",
      pull(c) { const { view } = c.byobRequest; view[0] = 7; c.byobRequest.respond(1); },
    });
    const reader = stream.getReader({ mode: "byob" });
    const own = new Uint8Array(4);
    const { buffer } = own;
    const { value } = await reader.read(own);
    return [buffer.byteLength, value.buffer === buffer, value.buffer.byteLength, [...value], await thrown(() => reader.read(own))];
  `);
  expect(found).toEqual([0, false, 4, [7], "TypeError"]);
});

test("a buffer that is detached is refused", async () => {
  const found = await inTool(`
    let controller;
    const stream = new ReadableStream({ type: "bytes", start(c) { controller = c; } });
    const gone = Uint8Array.of(1);
    structuredClone(gone.buffer, { transfer: [gone.buffer] });
    const reader = stream.getReader({ mode: "byob" });
    return [await thrown(() => controller.enqueue(gone)), await thrown(() => reader.read(gone))];
  `);
  expect(found).toEqual(["TypeError", "TypeError"]);
});

test("the branches of a teed byte stream have buffers of their own", async () => {
  const found = await inTool(`
    const stream = new ReadableStream({ type: "bytes", start(c) { c.enqueue(Uint8Array.of(1, 2)); c.close(); } });
    const [left, right] = stream.tee().map((branch) => branch.getReader());
    const first = (await left.read()).value;
    first.fill(9);
    const second = (await right.read()).value;
    return [[...first], [...second], first.buffer === second.buffer];
  `);
  expect(found).toEqual([[9, 9], [1, 2], false]);
});

test("the iterator of a stream is one of the language's", async () => {
  const found = await inTool(`
    const iterator = new ReadableStream({ start(c) { c.close(); } }).values();
    const prototype = Object.getPrototypeOf(iterator);
    const all = Object.getPrototypeOf(Object.getPrototypeOf(async function* () {}).prototype);
    return [Object.getPrototypeOf(prototype) === all, Reflect.ownKeys(prototype), iterator[Symbol.asyncIterator]() === iterator];
  `);
  expect(found).toEqual([true, ["next", "return"], true]);
});

test("a decoder's stream takes nothing but bytes", async () => {
  const found = await inTool(`
    const reads = [undefined, null, "a", {}].map((chunk) => () => {
      return ReadableStream.from([chunk]).pipeThrough(new TextDecoderStream()).getReader().read();
    });
    return Promise.all(reads.map(thrown));
  `);
  expect(found).toEqual(["TypeError", "TypeError", "TypeError", "TypeError"]);
});
