import type { Deed } from "../deeds.ts";

const TYPE_ERROR = "throws TypeError";
const RANGE_ERROR = "throws RangeError";
const refused = (...expressions: string[]): Deed[] => expressions.map((text) => [text, TYPE_ERROR]);
const CLASSES = [
  "ReadableStream",
  "ReadableStreamDefaultReader",
  "ReadableStreamBYOBReader",
  "ReadableStreamDefaultController",
  "ReadableByteStreamController",
  "ReadableStreamBYOBRequest",
  "WritableStream",
  "WritableStreamDefaultWriter",
  "WritableStreamDefaultController",
  "TransformStream",
  "TransformStreamDefaultController",
  "ByteLengthQueuingStrategy",
  "CountQueuingStrategy",
  "TextDecoderStream",
  "TextEncoderStream",
];

/** Streams by the Streams Standard. */
export const STREAM_DEEDS: readonly Deed[] = [
  ...CLASSES.map((name): Deed => [`[${name}.name, ${name}.prototype[Symbol.toStringTag]]`, [name, name]]),
  ...CLASSES.flatMap((name) => refused(`${name}()`)),
  ...refused(
    "new ReadableStreamDefaultController()",
    "new ReadableByteStreamController()",
    "new ReadableStreamBYOBRequest()",
    "new WritableStreamDefaultController()",
    "new TransformStreamDefaultController()",
    "new ReadableStreamDefaultReader({})",
    "new WritableStreamDefaultWriter({})",
    "new CountQueuingStrategy()",
    "new ReadableStream(null)",
    "new ReadableStream({ type: 'x' })",
    "new ReadableStream({ pull: 1 })",
    "new ReadableStream().getReader({ mode: 'x' })",
    "new ReadableStream().getReader({ mode: 'byob' })",
  ),
  ...["-1", "NaN", "'x'"].map((mark): Deed => [`new ReadableStream({}, { highWaterMark: ${mark} })`, RANGE_ERROR]),
  ["new WritableStream({ type: 'x' })", RANGE_ERROR],
  ["new TransformStream({ readableType: 'x' })", RANGE_ERROR],
  ["new ReadableStream({ type: 'bytes' }, { size() {} })", RANGE_ERROR],
  ["new ReadableStream({ start() { throw new RangeError(); } })", RANGE_ERROR],
  ["{ const s = new ReadableStream(); s.getReader(); return s.getReader(); }", TYPE_ERROR],
  [
    "{ const s = new ReadableStream(); const r = s.getReader(); r.releaseLock(); s.getReader(); return s.locked; }",
    true,
  ],
  [
    "{ const s = new ReadableStream({ start(c) { c.enqueue(1); c.close(); } }); const r = s.getReader(); return [await r.read(), await r.read()]; }",
    [{ value: 1, done: false }, { done: true }],
  ],
  [
    "{ const s = new ReadableStream({ start(c) { c.error(new RangeError()); } }); return s.getReader().read(); }",
    RANGE_ERROR,
  ],
  [
    "{ const s = new ReadableStream({ pull() { throw new RangeError(); } }); return s.getReader().read(); }",
    RANGE_ERROR,
  ],
  ["{ let c; new ReadableStream({ start(x) { c = x; } }); c.close(); return c.enqueue(1); }", TYPE_ERROR],
  ["{ let c; new ReadableStream({ start(x) { c = x; } }); c.close(); return c.close(); }", TYPE_ERROR],
  [
    "{ let c; new ReadableStream({ start(x) { c = x; } }, { highWaterMark: 3 }); c.enqueue(1); return c.desiredSize; }",
    2,
  ],
  [
    "{ let c; new ReadableStream({ start(x) { c = x; } }, new ByteLengthQueuingStrategy({ highWaterMark: 9 })); c.enqueue(new Uint8Array(4)); return c.desiredSize; }",
    5,
  ],
  [
    "{ let why; const s = new ReadableStream({ cancel(x) { why = x; } }); await s.cancel('because'); return why; }",
    "because",
  ],
  ["{ const s = new ReadableStream({ cancel() { throw new RangeError(); } }); return s.cancel(); }", RANGE_ERROR],
  ["{ const s = new ReadableStream(); s.getReader(); return s.cancel(); }", TYPE_ERROR],
  [
    "{ const s = new ReadableStream(); const r = s.getReader(); const p = r.read(); r.releaseLock(); return p; }",
    TYPE_ERROR,
  ],
  ["{ const s = new ReadableStream(); const r = s.getReader(); r.releaseLock(); return r.read(); }", TYPE_ERROR],
  ["{ const all = []; for await (const x of ReadableStream.from([1, 2])) all.push(x); return all; }", [1, 2]],
  [
    "{ const all = []; for await (const x of ReadableStream.from((async function* () { yield 1; })())) all.push(x); return all; }",
    [1],
  ],
  [
    "{ const s = ReadableStream.from([1, 2]); for await (const x of s) break; return (await s.getReader().read()).done; }",
    true,
  ],
  [
    "{ const s = ReadableStream.from([1, 2]); for await (const x of s.values({ preventCancel: true })) break; return (await s.getReader().read()).value; }",
    2,
  ],
  ...refused("ReadableStream.from()", "ReadableStream.from(1)", "ReadableStream.from(null)", "ReadableStream.from({})"),
  [
    "{ const [a, b] = ReadableStream.from([1]).tee(); return [(await a.getReader().read()).value, (await b.getReader().read()).value]; }",
    [1, 1],
  ],
  ["{ const s = new ReadableStream(); s.tee(); return s.locked; }", true],
  [
    "{ const s = new ReadableStream({ type: 'bytes', start(c) { c.enqueue(new Uint8Array([1, 2, 3])); } }); const { value } = await s.getReader({ mode: 'byob' }).read(new Uint8Array(2)); return [...value]; }",
    [1, 2],
  ],
  [
    "{ const s = new ReadableStream({ type: 'bytes', pull(c) { c.byobRequest.view[0] = 7; c.byobRequest.respond(1); } }); const { value } = await s.getReader({ mode: 'byob' }).read(new Uint8Array(2)); return [...value]; }",
    [7],
  ],
  [
    "{ const s = new ReadableStream({ type: 'bytes', autoAllocateChunkSize: 4, pull(c) { c.byobRequest.view[0] = 7; c.byobRequest.respond(1); } }); const { value } = await s.getReader().read(); return [...value]; }",
    [7],
  ],
  [
    "{ const s = new ReadableStream({ type: 'bytes' }); return s.getReader({ mode: 'byob' }).read(new Uint8Array(0)); }",
    TYPE_ERROR,
  ],
  ["{ const s = new ReadableStream({ type: 'bytes', start(c) { c.enqueue('a'); } }); return 1; }", TYPE_ERROR],
  [
    "{ const s = new ReadableStream({ type: 'bytes', start(c) { c.enqueue(new Uint8Array(8)); c.close(); } }); const r = s.getReader({ mode: 'byob' }); const { value } = await r.read(new Uint32Array(2)); return [value.constructor.name, value.length]; }",
    ["Uint32Array", 2],
  ],
  [
    "{ const all = []; const w = new WritableStream({ write: (x) => void all.push(x), close: () => void all.push('end') }).getWriter(); w.write(1); w.write(2); await w.close(); return all; }",
    [1, 2, "end"],
  ],
  [
    "{ const w = new WritableStream({ write() { throw new RangeError(); } }).getWriter(); return w.write(1); }",
    RANGE_ERROR,
  ],
  [
    "{ const w = new WritableStream({}, { highWaterMark: 2 }).getWriter(); const before = w.desiredSize; w.write(1); return [before, w.desiredSize]; }",
    [2, 1],
  ],
  ["{ const w = new WritableStream().getWriter(); await w.close(); return w.write(1); }", TYPE_ERROR],
  ["{ const w = new WritableStream().getWriter(); await w.abort(new RangeError()); return w.closed; }", RANGE_ERROR],
  [
    "{ let signal; const w = new WritableStream({ start(c) { signal = c.signal; } }).getWriter(); await w.abort('why'); return [signal instanceof AbortSignal, signal.aborted, signal.reason]; }",
    [true, true, "why"],
  ],
  ["{ const s = new WritableStream(); s.getWriter(); return s.getWriter(); }", TYPE_ERROR],
  [
    "{ const s = new WritableStream(); const w = s.getWriter(); w.releaseLock(); return [s.locked, await w.write(1)]; }",
    TYPE_ERROR,
  ],
  [
    "{ const all = []; await ReadableStream.from([1, 2]).pipeTo(new WritableStream({ write: (x) => void all.push(x) })); return all; }",
    [1, 2],
  ],
  [
    "{ const s = new WritableStream(); await ReadableStream.from([]).pipeTo(s, { preventClose: true }); await s.getWriter().write(1); return s.locked; }",
    true,
  ],
  [
    "{ return ReadableStream.from([1]).pipeTo(new WritableStream({ write() { throw new RangeError(); } })); }",
    RANGE_ERROR,
  ],
  [
    "{ return new ReadableStream({ start(c) { c.error(new RangeError()); } }).pipeTo(new WritableStream()); }",
    RANGE_ERROR,
  ],
  [
    "{ return new ReadableStream().pipeTo(new WritableStream(), { signal: AbortSignal.abort() }); }",
    "throws AbortError",
  ],
  ["{ return new ReadableStream().pipeTo({}); }", TYPE_ERROR],
  ["{ const s = new ReadableStream(); s.getReader(); return s.pipeTo(new WritableStream()); }", TYPE_ERROR],
  [
    "{ const t = new TransformStream({ transform: (x, c) => c.enqueue(x * 2), flush: (c) => c.enqueue('end') }); const all = []; for await (const x of ReadableStream.from([1, 2]).pipeThrough(t)) all.push(x); return all; }",
    [2, 4, "end"],
  ],
  [
    "{ const all = []; for await (const x of ReadableStream.from([1]).pipeThrough(new TransformStream())) all.push(x); return all; }",
    [1],
  ],
  [
    "{ const t = new TransformStream({ transform() { throw new RangeError(); } }); for await (const x of ReadableStream.from([1]).pipeThrough(t)); }",
    RANGE_ERROR,
  ],
  [
    "{ const t = new TransformStream({ transform: (x, c) => c.terminate() }); t.writable.getWriter().write(1).catch(() => 0); return (await t.readable.getReader().read()).done; }",
    true,
  ],
  [
    "[new CountQueuingStrategy({ highWaterMark: 2 }).highWaterMark, new CountQueuingStrategy({ highWaterMark: 2 }).size('x')]",
    [2, 1],
  ],
  [
    "[new ByteLengthQueuingStrategy({ highWaterMark: 2 }).highWaterMark, new ByteLengthQueuingStrategy({ highWaterMark: 2 }).size(new Uint8Array(7))]",
    [2, 7],
  ],
  [
    "{ const all = []; for await (const x of ReadableStream.from(['a€', '\\ud83d', '\\ude00']).pipeThrough(new TextEncoderStream())) all.push(...x); return all; }",
    [97, 226, 130, 172, 240, 159, 152, 128],
  ],
  [
    "{ const all = []; for await (const x of ReadableStream.from(['', '']).pipeThrough(new TextEncoderStream())) all.push(x); return all; }",
    [],
  ],
  [
    "{ const all = []; for await (const x of ReadableStream.from(['\\ud83d']).pipeThrough(new TextEncoderStream())) all.push(...x); return all; }",
    [239, 191, 189],
  ],
  [
    "{ let text = ''; const b = [226, 130, 172, 65].map((x) => new Uint8Array([x])); for await (const x of ReadableStream.from(b).pipeThrough(new TextDecoderStream())) text += x; return text; }",
    "€A",
  ],
  [
    "{ for await (const x of ReadableStream.from([new Uint8Array([255])]).pipeThrough(new TextDecoderStream('utf-8', { fatal: true }))); }",
    TYPE_ERROR,
  ],
  ["{ for await (const x of ReadableStream.from(['a']).pipeThrough(new TextDecoderStream())); }", TYPE_ERROR],
  ["new TextDecoderStream('nonsense')", RANGE_ERROR],
  ["[new TextDecoderStream('latin1').encoding, new TextEncoderStream().encoding]", ["windows-1252", "utf-8"]],
];
