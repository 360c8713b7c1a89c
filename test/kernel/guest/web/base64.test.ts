import fc from "fast-check";
import { expect, test } from "vitest";
import { decodeBase64, encodeBase64 } from "../../../../src/kernel/guest/web/base64-bytes.ts";
import { atob as ourAtob, btoa as ourBtoa } from "../../../../src/kernel/guest/web/base64.ts";
import { inIsolate } from "./in-isolate.ts";

function attempt(convert: () => string): string {
  try {
    return convert();
  } catch (error) {
    return `threw ${(error as Error).name}`;
  }
}

test("btoa encodes any bytes like Node", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 50 }), (bytes) => {
      const text = String.fromCharCode(...bytes);
      expect(ourBtoa(text)).toBe(btoa(text));
      expect(ourAtob(ourBtoa(text))).toBe(text);
    }),
  );
});

test("atob reads what is Base64 or nearly so like Node", () => {
  const char = fc.oneof(
    fc.constantFrom(..."ABYZabyz0189+/".split("")),
    fc.constantFrom(..."==\n \t\f\r".split("")),
    fc.constantFrom("-", "\v", "é"),
  );
  fc.assert(
    fc.property(fc.string({ unit: char, maxLength: 12 }), (text) => {
      expect(attempt(() => ourAtob(text))).toBe(attempt(() => atob(text)));
    }),
    { numRuns: 3_000 },
  );
});

test("the forgiving rules hold", () => {
  expect(["YQ", "YQ==", " Y\nQ= =", "YR==", ""].map((text) => ourAtob(text))).toEqual(["a", "a", "a", "a", ""]);
  for (const text of ["Y", "YQ=", "YWJj=", "====", "=", "Y Q = = =", "YWJj\u00a0", "a-b_"]) {
    expect(attempt(() => ourAtob(text))).toBe("threw InvalidCharacterError");
  }
});

test("btoa refuses characters that are no bytes", () => {
  expect(attempt(() => ourBtoa("a€"))).toBe("threw InvalidCharacterError");
});

test("values are made text first, and there has to be one", () => {
  expect([ourBtoa(null as never), ourAtob(null as never), ourBtoa(12 as never)]).toEqual([
    "bnVsbA==",
    atob("null"),
    "MTI=",
  ]);
  expect(() => Reflect.apply(ourAtob, undefined, [])).toThrow(TypeError);
  expect(() => Reflect.apply(ourBtoa, undefined, [])).toThrow(TypeError);
});

test("long texts are converted in a frozen isolate", async () => {
  const result = await inIsolate(
    `const text = "abc\\xff".repeat(50_000);
    const error = (() => { try { atob("!") } catch (error) { return error } })();
    return [atob(btoa(text)) === text, error instanceof DOMException, error.code];`,
    { frozen: true },
  );
  expect(result).toEqual([true, true, 5]);
});

/** Runs something in a Node that has no Base64 of its own. */
function withoutNative(act: () => void): void {
  const decode = Object.getOwnPropertyDescriptor(Uint8Array, "fromBase64") ?? {};
  const encode = Object.getOwnPropertyDescriptor(Uint8Array.prototype, "toBase64") ?? {};
  Reflect.deleteProperty(Uint8Array, "fromBase64");
  Reflect.deleteProperty(Uint8Array.prototype, "toBase64");
  try {
    act();
  } finally {
    Object.defineProperty(Uint8Array, "fromBase64", decode);
    Object.defineProperty(Uint8Array.prototype, "toBase64", encode);
  }
}

test("bytes go to Base64 and back as with Node's, with V8's own and without", () => {
  const check = () =>
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
        const base64 = Buffer.from(bytes).toString("base64");
        expect(encodeBase64(bytes)).toBe(base64);
        expect([...decodeBase64(base64)]).toEqual([...bytes]);
        expect([...decodeBase64(base64.replaceAll("=", ""))]).toEqual([...bytes]);
      }),
    );
  check();
  withoutNative(check);
});
