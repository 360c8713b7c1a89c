import fc from "fast-check";
import { expect, test } from "vitest";
import { encodeFrame, type Frame, FrameReader } from "../../../../src/kernel/tool/build/frame.ts";

const LIMITS = { headBytes: 1_024, textBytes: 64 * 1_024 };

function bytesOf(frame: Frame): Buffer {
  return Buffer.concat(encodeFrame(frame));
}

/** Reads the bytes in chunks of the sizes, which start anew after the last. */
function readIn(reader: FrameReader, bytes: Buffer, sizes: readonly number[]): readonly Frame[] {
  const frames: Frame[] = [];
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    const end = at + (sizes[turn % sizes.length] ?? 1);
    const frame = reader.push(bytes.subarray(at, end));
    if (frame !== undefined) frames.push(frame);
    at = end;
  }
  return frames;
}

test("frames come out of chunks of any size as they went in, one after the other", () => {
  const frame = fc.record({
    head: fc.jsonValue({ maxDepth: 2 }).map((value) => JSON.parse(JSON.stringify(value)) as unknown),
    texts: fc.array(fc.string({ unit: "binary", maxLength: 200 }), { maxLength: 5 }),
  });
  const sizes = fc.array(fc.integer({ min: 1, max: 70 }), { minLength: 1, maxLength: 5 });
  fc.assert(
    fc.property(frame, frame, sizes, (one, other, chunks) => {
      const reader = new FrameReader({ headBytes: 100_000, textBytes: 100_000 });
      expect(readIn(reader, bytesOf(one), chunks)).toEqual([one]);
      expect(readIn(reader, bytesOf(other), chunks)).toEqual([other]);
    }),
  );
});

test("a text may be given as its bytes, in pieces that part characters", () => {
  const bytes = Buffer.from("naïve 日本");
  const pieces = Array.from(bytes, (_byte, at) => bytes.subarray(at, at + 1));
  const sent = Buffer.concat(encodeFrame({ head: null, texts: ["a", pieces, []] }));
  expect(new FrameReader(LIMITS).push(sent)).toEqual({ head: null, texts: ["a", "naïve 日本", ""] });
});

test("a frame beyond the limits is refused before its bytes have come", () => {
  const large = bytesOf({ head: null, texts: ["a".repeat(LIMITS.textBytes), "b"] });
  expect(() => new FrameReader(LIMITS).push(large.subarray(0, 60))).toThrow("texts of 65537 bytes");
  const head = bytesOf({ head: "a".repeat(LIMITS.headBytes), texts: [] });
  expect(() => new FrameReader(LIMITS).push(head.subarray(0, 4))).toThrow(/a head of \d+ bytes/);
});

test("bytes behind a frame, and heads of another form, are refused", () => {
  const bytes = Buffer.concat([bytesOf({ head: 1, texts: ["a"] }), Buffer.from("b")]);
  expect(() => new FrameReader(LIMITS).push(bytes)).toThrow("more bytes than the frame has");
  for (const json of ["[]", '{"head":1}', '{"head":1,"lengths":[-1]}', '{"head":1,"lengths":[0.5]}']) {
    const prefix = Buffer.alloc(4);
    prefix.writeUInt32LE(json.length);
    expect(() => new FrameReader(LIMITS).push(Buffer.concat([prefix, Buffer.from(json)]))).toThrow(
      "a frame of another form",
    );
  }
});
