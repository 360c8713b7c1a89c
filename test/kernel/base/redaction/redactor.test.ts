import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { formsOf } from "../../../../src/kernel/base/redaction/forms.ts";
import { type RedactedValue, Redactor } from "../../../../src/kernel/base/redaction/redactor.ts";

const VALUE = "k\"y/+ü&=<correct> horse's";
const SHOWN = "glovebox.secret.KEY.";
const redactorOf = (...values: readonly string[]) =>
  new Redactor(values.map((value, at): RedactedValue => ({ value, shown: at === 0 ? SHOWN : `(${at})` })));

/** Deliveries of a stream for its chunks: one for each, and the rest at the end. */
function deliveries(redactor: Redactor, chunks: readonly Uint8Array[]): readonly Buffer[] {
  const stream = redactor.stream();
  return [...chunks.map((chunk) => Buffer.from(stream.push(Buffer.from(chunk)))), Buffer.from(stream.end())];
}

function cut(bytes: Buffer, lengths: readonly number[]): readonly Buffer[] {
  const chunks: Buffer[] = [];
  let at = 0;
  for (const length of lengths) {
    chunks.push(bytes.subarray(at, at + length));
    at += length;
  }
  return [...chunks, bytes.subarray(at)];
}

describe("the forms of a value", () => {
  const lower = (text: string) => text.replaceAll(/%[0-9A-F]{2}/g, (code) => code.toLowerCase());

  test.each([
    ["plain", VALUE],
    ["percent-encoded", encodeURIComponent(VALUE)],
    ["percent-encoded in lower case", lower(encodeURIComponent(VALUE))],
    ["a field of a form", new URLSearchParams({ a: VALUE }).toString().slice(2)],
    ["JSON", JSON.stringify(VALUE)],
    ["JSON with escaped slashes", JSON.stringify(VALUE).replaceAll("/", "\\/")],
    ["JSON in ASCII", JSON.stringify(VALUE).replaceAll("ü", "\\u00fc")],
    ["JSON in ASCII with escaped slashes", JSON.stringify(VALUE).replaceAll("ü", "\\u00fc").replaceAll("/", "\\/")],
    ["JSON for HTML", JSON.stringify(VALUE).replaceAll(/[<>&]/g, (c) => `\\u00${c.charCodeAt(0).toString(16)}`)],
    ["JSON in JSON", JSON.stringify(JSON.stringify(VALUE)).slice(3, -3)],
    ["HTML", "k&quot;y/+ü&amp;=&lt;correct&gt; horse&#39;s"],
    ["HTML with numbers in hex", "k&quot;y/+ü&amp;=&lt;correct&gt; horse&#x27;s"],
    ["HTML without quotes", "k\"y/+ü&amp;=&lt;correct&gt; horse's"],
    ["hex", Buffer.from(VALUE).toString("hex")],
    ["hex in upper case", Buffer.from(VALUE).toString("hex").toUpperCase()],
  ])("are replaced whole: %s", (_, form) => {
    const clean = redactorOf(VALUE).text(`before ${form} after`);
    expect(clean.replaceAll('"', "")).toBe(`before ${SHOWN} after`);
  });

  test("in Base64 are replaced whatever stands around them there", () => {
    const redactor = redactorOf(VALUE);
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 9 }), fc.uint8Array({ maxLength: 9 }), (before, after) => {
        const bytes = Buffer.concat([before, Buffer.from(VALUE), after]);
        expect(redactor.text(bytes.toString("base64"))).toContain(SHOWN);
        expect(redactor.text(bytes.toString("base64url"))).toContain(SHOWN);
      }),
    );
  });

  test("are each found once", () => {
    expect(formsOf("plain0token").map(String)).toEqual([...new Set(formsOf("plain0token").map(String))]);
  });
});

describe("a redactor", () => {
  test("returns a text without a value as it is", () => {
    const text = "nothing in it";
    expect(redactorOf(VALUE).text(text)).toBe(text);
    expect(new Redactor([]).text(text)).toBe(text);
    const chunk = Buffer.from(text);
    expect(new Redactor([]).stream().push(chunk)).toBe(chunk);
  });

  test("redacts bytes held one per character", () => {
    const bytes = Buffer.from(`a ${VALUE} ÿ`).toString("latin1");
    expect(redactorOf(VALUE).latin1(bytes)).toBe(`a ${SHOWN} ${Buffer.from("ÿ").toString("latin1")}`);
  });

  test("replaces the longer of two values of which one begins with the other", () => {
    const both = redactorOf("abcdefgh", "abcdefgh-ijkl");
    expect(both.text("abcdefgh-ijkl abcdefgh-x")).toBe(`(1) ${SHOWN}-x`);
  });

  test("replaces values that overlap, and one inside of another, as one", () => {
    const both = redactorOf("abcdefgh", "efgh-ijkl", "-middle-");
    expect(both.text("abcdefgh-ijkl.")).toBe(`${SHOWN}.`);
    expect(redactorOf("begin-middle-end", "-middle-").text("begin-middle-end")).toBe(SHOWN);
    expect(redactorOf("aaaaaaaa").text("a".repeat(1_000))).toBe(SHOWN);
  });

  test("replaces values one right after the other, each by its own text", () => {
    expect(redactorOf("abcdefgh", "ijklmnop").text("abcdefghijklmnopabcdefgh")).toBe(`${SHOWN}(1)${SHOWN}`);
  });

  test("finds values that together need several tables", () => {
    const values = Array.from({ length: 16 }, (_, at) => `${at}-`.padEnd(4_096, "(s3cr3t|"));
    expect(redactorOf(...values).text(`before ${values[7]} after`)).toBe("before (7) after");
  });

  test("takes values for text, and never throws, whatever the text", () => {
    const redactor = redactorOf("a.*[b](c)$&\\1");
    expect(redactor.text("aXX a.*[b](c)$&\\1 $&")).toBe(`aXX ${SHOWN} $&`);
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 200 }), (text) => {
        expect(redactor.text(text)).toBe(text);
      }),
    );
  });
});

describe("a stream", () => {
  const TOKEN = "kV9-zQ7mTT0aX2";
  const noise = fc.uint8Array({ maxLength: 12 }).map((bytes) => Buffer.from(bytes));
  const lengths = fc.array(fc.nat(40), { maxLength: 20 });
  const isInside = (bytes: Buffer) => formsOf(TOKEN).some((form) => bytes.includes(form));

  test("delivers by the lengths of its chunks alone, whatever part of a value they hold", () => {
    const redactor = redactorOf(TOKEN);
    const longest = Math.max(...formsOf(TOKEN).map(({ length }) => length));
    const begun = fc.constantFrom(...formsOf(TOKEN)).map((form) => form.subarray(0, form.length - 1));
    const fillings = fc.array(fc.oneof(begun, noise), { minLength: 1, maxLength: 9 });
    fc.assert(
      fc.property(lengths, fillings, (sizes, parts) => {
        const filling = Buffer.concat([...parts, Buffer.from("~")]);
        const total = sizes.reduce((sum, size) => sum + size, 0);
        const body = Buffer.alloc(total, filling);
        fc.pre(!isInside(body));
        let read = 0;
        let passed = 0;
        for (const [at, delivered] of deliveries(redactor, cut(body, sizes)).entries()) {
          read += sizes[at] ?? 0;
          const due = at > sizes.length ? total : Math.max(0, read - longest + 1);
          expect(delivered.length).toBe(due - passed);
          passed = due;
        }
      }),
      { numRuns: 2_000 },
    );
  });

  test("lets no form through, and nothing else be lost, wherever it is cut", () => {
    const values = [TOKEN, "begin-of-it", "begin-of-it-and-more"];
    const redactor = redactorOf(...values);
    const forms = values.flatMap((value) => formsOf(value));
    const pieces = fc.array(fc.oneof(noise, fc.constantFrom(...forms)), { maxLength: 8 });
    fc.assert(
      fc.property(pieces, lengths, (parts, sizes) => {
        const body = Buffer.concat(parts);
        const whole = Buffer.concat(deliveries(redactor, [body]));
        expect(forms.some((form) => whole.includes(form))).toBe(false);
        expect(Buffer.concat(deliveries(redactor, cut(body, sizes)))).toEqual(whole);
      }),
      { numRuns: 2_000 },
    );
  });

  test.each([1, 2, 3, 4, 5, 6, 7])("redacts every form in chunks of %i bytes", (size) => {
    const redactor = redactorOf(VALUE);
    for (const form of formsOf(VALUE)) {
      const body = Buffer.concat([Buffer.from("a "), form, Buffer.from(" b")]);
      const sizes = Array.from({ length: Math.ceil(body.length / size) }, () => size);
      expect(Buffer.concat(deliveries(redactor, cut(body, sizes))).toString()).toBe(`a ${SHOWN} b`);
    }
  });

  test("has tables of a few bytes for each byte of a form, so that ten long keys do not fill the memory", () => {
    const values = Array.from({ length: 10 }, (_, nth) => `${nth}-${"abcdefghij/+=".repeat(230)}`);
    const bytes = values.flatMap((value) => formsOf(value)).reduce((sum, { length }) => sum + length, 0);
    expect(redactorOf(...values).tableBytes).toBeLessThan(10 * bytes);
  });
});
