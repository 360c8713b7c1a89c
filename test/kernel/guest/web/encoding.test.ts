import fc from "fast-check";
import { expect, test } from "vitest";
import { TextDecoder as OurDecoder, TextEncoder as OurEncoder } from "../../../../src/kernel/guest/web/encoding.ts";
import { inIsolate } from "./in-isolate.ts";
import { inTool } from "./in-tool.ts";

/** Bytes in which broken UTF-8 is likely: first bytes, continuations, and the edges of their ranges. */
const edgyByte = fc.oneof(
  fc.integer({ min: 0, max: 255 }),
  fc.constantFrom(
    0x41,
    0x80,
    0x8f,
    0x90,
    0x9f,
    0xa0,
    0xbf,
    0xc1,
    0xc2,
    0xdf,
    0xe0,
    0xe2,
    0xed,
    0xef,
    0xbb,
    0xf0,
    0xf4,
    0xf5,
  ),
  fc.constantFrom(0xd8, 0xdc, 0xdb, 0xdf, 0xfe, 0xff),
);
const edgyBytes = fc.array(edgyByte, { maxLength: 24 }).map((bytes) => Uint8Array.from(bytes));

function attempt(decode: () => string): string {
  try {
    return decode();
  } catch (error) {
    return (error as Error).name;
  }
}

test.for(["utf-8", "utf-16le", "utf-16be", "latin1"])("it decodes any bytes as %s like Node", (label) => {
  fc.assert(
    fc.property(edgyBytes, fc.boolean(), fc.boolean(), (bytes, fatal, ignoreBOM) => {
      const options = { fatal: fatal && label !== "latin1", ignoreBOM };
      const ours = attempt(() => new OurDecoder(label, options).decode(bytes));
      expect(ours).toBe(attempt(() => new TextDecoder(label, options).decode(bytes)));
    }),
    { numRuns: 1_500 },
  );
});

test.for(["utf-8", "utf-16le", "utf-16be"])("it decodes %s in pieces as it does at once", (label) => {
  fc.assert(
    fc.property(fc.array(edgyBytes, { maxLength: 5 }), (pieces) => {
      const decoder = new OurDecoder(label);
      const text = pieces.map((piece) => decoder.decode(piece, { stream: true })).join("") + decoder.decode();
      expect(text).toBe(new OurDecoder(label).decode(Uint8Array.from(pieces.flatMap((piece) => [...piece]))));
    }),
    { numRuns: 500 },
  );
});

test("it decodes texts longer than a chunk", () => {
  for (const text of ["a".repeat(20_000), "aé€😀".repeat(9_000), `${"é".repeat(4_096)}x`, "😀".repeat(2_048)]) {
    const bytes = new TextEncoder().encode(text);
    expect(new OurDecoder().decode(bytes)).toBe(text);
    expect(new OurDecoder("utf-16le").decode(new Uint8Array(Buffer.from(text, "utf16le")))).toBe(text);
    expect(Buffer.from(new OurEncoder().encode(text)).equals(bytes)).toBe(true);
  }
});

test("every label of an encoding names it, whatever its case and the space around it", () => {
  const labels = {
    "utf-8": ["utf8", "UTF-8", " unicode-1-1-utf-8\n", "x-unicode20utf8"],
    "utf-16le": ["utf-16", "ucs-2", "unicode", "csunicode"],
    "utf-16be": ["unicodefffe", "UTF-16BE"],
    "windows-1252": ["latin1", "ascii", "iso-8859-1", "cp1252", "us-ascii", "iso_8859-1:1987"],
  };
  for (const [encoding, names] of Object.entries(labels)) {
    for (const name of names) expect(new OurDecoder(name).encoding).toBe(encoding);
  }
});

test("an unknown label is a RangeError", () => {
  expect(() => new OurDecoder("utf-7")).toThrow(RangeError);
  expect(() => new OurDecoder("utf8 latin1")).toThrow(RangeError);
});

test("a fatal decoder works on after an error", () => {
  const decoder = new OurDecoder("utf-8", { fatal: true });
  expect(() => decoder.decode(Uint8Array.of(0xff))).toThrow(TypeError);
  expect(decoder.decode(Uint8Array.of(0x61))).toBe("a");
});

test("the byte order mark is dropped at the start of each stream only", () => {
  const mark = Uint8Array.of(0xef, 0xbb, 0xbf);
  const decoder = new OurDecoder();
  const pieces = [mark.subarray(0, 2), mark.subarray(2), mark].map((piece) => decoder.decode(piece, { stream: true }));
  expect([...pieces, decoder.decode(), decoder.decode(mark)]).toEqual(["", "", "\ufeff", "", ""]);
});

test("it decodes views and buffers of every kind", () => {
  const { buffer } = Uint8Array.of(0x61, 0x62, 0x63, 0x64);
  const decoder = new OurDecoder();
  const inputs = [buffer, new Uint8Array(buffer, 1, 2), new DataView(buffer, 2), new Uint16Array(buffer, 0, 1)];
  expect(inputs.map((input) => decoder.decode(input))).toEqual(["abcd", "bc", "cd", "ab"]);
  expect(decoder.decode()).toBe("");
  for (const input of ["abc", [97], null, { byteLength: 1 }, Object.create(ArrayBuffer.prototype)]) {
    expect(() => decoder.decode(input as never)).toThrow(TypeError);
  }
});

test("it encodes any string like Node", () => {
  fc.assert(
    fc.property(
      fc.string({ unit: fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)) }),
      (text) => {
        expect([...new OurEncoder().encode(text)]).toEqual([...new TextEncoder().encode(text)]);
      },
    ),
  );
});

test("encodeInto writes whole characters like Node", () => {
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom("a", "é", "€", "😀", "\ud800", "\udc00") }),
      fc.integer({ min: 0, max: 20 }),
      (text, length) => {
        const [ours, nodes] = [new Uint8Array(length), new Uint8Array(length)];
        expect(new OurEncoder().encodeInto(text, ours)).toEqual(new TextEncoder().encodeInto(text, nodes));
        expect([...ours]).toEqual([...nodes]);
      },
    ),
  );
});

test("encodeInto takes nothing but a Uint8Array", () => {
  expect(() => new OurEncoder().encodeInto("a", new Uint16Array(1) as never)).toThrow(TypeError);
  expect(() => new OurEncoder().encodeInto("a", Object.create(Uint8Array.prototype) as never)).toThrow(TypeError);
});

test("in a frozen isolate what is encoded decodes to itself", async () => {
  const result = await inIsolate(
    `const text = "plain ü € 😀 \\ud800".repeat(2000);
    const bytes = new TextEncoder().encode(text);
    return [bytes.length, new TextDecoder().decode(bytes) === text.toWellFormed()];`,
    { frozen: true },
  );
  expect(result).toEqual([42_000, true]);
});

test("a tool decodes encodings of one byte for each character like Node", async () => {
  const labels = ["ibm866", "latin2", "iso-8859-16", "koi8-r", "macintosh", "windows-1251", "windows-874"];
  const bytes = Uint8Array.from({ length: 256 }, (_, index) => index);
  const found = await inTool(
    `const bytes = Uint8Array.from({ length: 256 }, (_, index) => index);
    return input.map((label) => {
      const decoder = new TextDecoder(label);
      return [decoder.encoding, decoder.decode(bytes), decoder.decode(bytes.subarray(200), { stream: true })];
    });`,
    labels,
  );
  const nodes = labels.map((label) => new TextDecoder(label));
  expect(found).toEqual(nodes.map((one) => [one.encoding, one.decode(bytes), one.decode(bytes.subarray(200))]));
});

test("where malformed bytes are refused, a byte without a character is", async () => {
  const found = await inTool(`
    const decoder = new TextDecoder("windows-1253", { fatal: true });
    return [decoder.decode(Uint8Array.of(0xc1)), await thrown(() => decoder.decode(Uint8Array.of(0xd2))), decoder.fatal];
  `);
  expect(found).toEqual(["Α", "TypeError", true]);
});

test("a label of an encoding that tools do not have is refused", async () => {
  const labels = ["gbk", "shift_jis", "replacement", "x".repeat(1_000), ""];
  const found = await inTool("return Promise.all(input.map((label) => thrown(() => new TextDecoder(label))));", labels);
  expect(found).toEqual(labels.map(() => "RangeError"));
});
