import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Seal, SealError } from "../../../src/kernel/store/seal.ts";

const SECRET = "a secret of a fleet";
const seal = Seal.of(SECRET);
const open = Seal.of(undefined);
const text = fc.string({ unit: "binary", maxLength: 200 });

describe("a seal", () => {
  test("opens what somebody with the same secret closed for the same place", () => {
    const other = Seal.of(SECRET);
    fc.assert(
      fc.property(text, text, (each, about) => {
        expect(other.open(seal.close(each, about), about)).toBe(each);
      }),
    );
  });

  test("refuses what was closed for another place", () => {
    fc.assert(
      fc.property(text, text, text, (each, about, other) => {
        fc.pre(about !== other);
        expect(() => seal.open(seal.close(each, about), other)).toThrow(SealError);
      }),
    );
  });

  test("refuses what was changed in any bit", () => {
    const sealed = Buffer.from(seal.close("some text", "a").slice("gcm1:".length), "base64");
    for (let bit = 0; bit < sealed.length * 8; bit++) {
      const changed = Buffer.from(sealed);
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect(() => seal.open(`gcm1:${changed.toString("base64")}`, "a")).toThrow(SealError);
    }
  });

  test("refuses what was cut off, and what is no sealed text at all", () => {
    const sealed = Buffer.from(seal.close("some text", "a").slice("gcm1:".length), "base64");
    for (let length = 0; length < sealed.length; length++) {
      const rest = sealed.toString("base64", 0, length);
      expect(() => seal.open(`gcm1:${rest}`, "a")).toThrow(SealError);
    }
    fc.assert(
      fc.property(text, (each) => {
        expect(() => seal.open(each, "a")).toThrow(SealError);
      }),
    );
  });

  test("refuses another secret's", () => {
    expect(() => Seal.of("another secret of it").open(seal.close("x", "a"), "a")).toThrow(SealError);
  });

  test("shows nothing of a text, and no two times the same", () => {
    const all = Array.from({ length: 50 }, () => seal.close("the text itself", "a"));
    expect(new Set(all).size).toBe(50);
    for (const each of all) expect(Buffer.from(each.slice(5), "base64").toString("latin1")).not.toContain("itself");
  });

  test("has at least sixteen characters of a secret", () => {
    expect(() => Seal.of("fifteen letters")).toThrow(/at least 16/);
    expect(Seal.of("sixteen letters!").isSecret).toBe(true);
  });
});

describe("without a secret", () => {
  test("a text is as it was, and says so", () => {
    expect(open.close("x", "a")).toBe("plain1:x");
    expect(open.isSecret).toBe(false);
    fc.assert(
      fc.property(text, (each) => {
        expect(open.open(open.close(each, "a"), "a")).toBe(each);
      }),
    );
  });

  test("what is sealed is refused, and what is not is refused where there is a secret", () => {
    expect(() => open.open(seal.close("x", "a"), "a")).toThrow(/no secret/);
    expect(() => seal.open(open.close("x", "a"), "a")).toThrow(/not sealed/);
    expect(() => open.open("x", "a")).toThrow(/unknown form/);
  });
});
