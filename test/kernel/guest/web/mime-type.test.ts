import { expect, test } from "vitest";
import { extractMimeType, parseMimeType, serializeMimeType } from "../../../../src/kernel/guest/web/mime-type.ts";

test.each([
  ["text/html", "text/html"],
  [" Text/HTML ; Charset=UTF-8 ", "text/html;charset=UTF-8"],
  ['text/html;charset="a b"', 'text/html;charset="a b"'],
  ['text/html;charset="gbk"', "text/html;charset=gbk"],
  ['text/html;a="x\\"y";b=2', 'text/html;a="x\\"y";b=2'],
  ["text/html;a=1;A=2", "text/html;a=1"],
  ["text/html;;;a=1", "text/html;a=1"],
  ["text/html;a=;b=2", "text/html;b=2"],
  ["text/html;a;b=2", "text/html;b=2"],
  ['text/html;a=""', 'text/html;a=""'],
  ['text/html;a="x" junk;b=2', "text/html;a=x;b=2"],
  ['text/html;a="x', "text/html;a=x"],
  ["text/html;a b=1;c=2", "text/html;c=2"],
])("%j is %s", (text, written) => {
  const type = parseMimeType(text);
  expect(type === undefined ? undefined : serializeMimeType(type)).toBe(written);
});

test.each(["", "text", "text/", "/html", "te xt/html", "text/ht ml", "text;/html", "text/html/x"])(
  "%j is no type",
  (text) => {
    expect(parseMimeType(text)).toBeUndefined();
  },
);

test("of several types the last valid one counts", () => {
  expect(extractMimeType(["text/a", 'text/b;c=",", junk'])?.essence).toBe("text/b");
  expect(extractMimeType(["text/a, */*"])?.essence).toBe("text/a");
  expect(extractMimeType([])).toBeUndefined();
});
