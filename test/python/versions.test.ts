import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  admits,
  compareVersions,
  isPrerelease,
  isSpecifiers,
  isVersion,
  versionsIn,
} from "../../src/python/runtime/versions.ts";

const release = fc.array(fc.nat(20), { minLength: 1, maxLength: 4 }).map((parts) => parts.join("."));
const version = fc
  .tuple(
    fc.constantFrom("", "", "1!"),
    release,
    fc.constantFrom("", "", "a1", "b2", "rc3"),
    fc.constantFrom("", "", ".post1"),
    fc.constantFrom("", "", ".dev2"),
    fc.constantFrom("", "", "", "+local.1"),
  )
  .map((parts) => parts.join(""));

describe("a version of Python's", () => {
  test.each(["0", "1.0", "1!2.0", "1.0a1", "1.0.post1", "1.0.dev2", "1.0+ubuntu.1", "v1.0", "2024.1.1", "1.0-1"])(
    "is %s",
    (text) => {
      expect(isVersion(text)).toBe(true);
    },
  );

  test.each(["", "abc", "1.", "1..0", "-1", "1.0+", " 1.0", "1.0\n", "1.0é", "1.0+a b", "1".repeat(129)])(
    "is not %j",
    (text) => {
      expect(isVersion(text)).toBe(false);
    },
  );

  test("comes after what is before it", () => {
    const sorted = ["1.0.dev1", "1.0a1", "1.0b2", "1.0rc1", "1.0", "1.0+local", "1.0.post1", "1.1", "1.10", "1!0.1"];
    expect([...sorted].reverse().sort(compareVersions)).toEqual(sorted);
    expect(sorted.filter(isPrerelease)).toEqual(["1.0.dev1", "1.0a1", "1.0b2", "1.0rc1"]);
  });
});

describe("what is asked for", () => {
  // As the reference implementation of the specification answers.
  test.each<[string, readonly string[], readonly string[]]>([
    ["", ["0", "1.0", "2.0rc1"], []],
    ["==1.0", ["1", "1.0.0", "1.0+local"], ["1.0.post1", "1.0.1", "1.0a1"]],
    ["==1.0.*", ["1", "1.0.post1", "1.0.9"], ["1.1", "1.10", "10.0"]],
    ["!=1.1", ["1.0", "1.10"], ["1.1", "1.1.0"]],
    ["!=1.0.*", ["1.1"], ["1", "1.0.5"]],
    ["~=1.4", ["1.4", "1.9.1"], ["1.3", "2.0"]],
    ["~=1.4.2", ["1.4.2", "1.4.10"], ["1.5", "1.4.1"]],
    ["~= 1!1.4", ["1!1.5"], ["1.5", "2!1.4"]],
    [">=1.0,<2", ["1.0", "1.9.9", "1.0.post1"], ["0.9", "2.0", "2.0rc1", "2.0.dev1", "1.0rc1"]],
    [">1.0", ["1.0.1", "1.1"], ["1.0", "1.0.post1", "1.0+local", "0.9"]],
    [">1.0.post1", ["1.0.post2", "1.0.1"], ["1.0.post1", "1.0"]],
    [">1.0a1", ["1.0", "1.0b1"], ["1.0a1", "1.0.dev1"]],
    ["<1.0rc2", ["1.0rc1", "0.9"], ["1.0rc2", "1.0"]],
    ["<1!0.5", ["7.0", "1!0.4"], ["1!0.5"]],
    ["<=1.0", ["1.0", "1.0rc1"], ["1.0.1", "1.0.post1"]],
    ["===1.0", ["1.0"], ["1.0.0", "1"]],
    [" >= 1.0 , != 1.1 ,", ["1.0", "1.2"], ["1.1"]],
  ])("as %j admits what it says, and nothing else", (specifiers, some, others) => {
    expect(isSpecifiers(specifiers)).toBe(true);
    expect(some.filter((one) => !admits(specifiers, one))).toEqual([]);
    expect(others.filter((one) => admits(specifiers, one))).toEqual([]);
  });

  test.each(["1.0", "=1.0", "~=1", ">=1.*", "=>1", "> = 1", "==1.0+a.*", "foo", "==foo", ">=1".repeat(200)])(
    "is not %j",
    (text) => {
      expect(isSpecifiers(text)).toBe(false);
    },
  );

  test("names versions", () => {
    expect(versionsIn(">=1.2, <2,!=1.5.*,~=1.4,===1.7rc1")).toEqual(["1.2", "2", "1.5", "1.4", "1.7rc1"]);
    expect(versionsIn("")).toEqual([]);
  });

  test("is answered as the order of versions has it, whichever they are", () => {
    fc.assert(
      fc.property(version, version, (one, other) => {
        const plain = one.replace(/\+.*/, "");
        const [bound, order] = [other.replace(/\+.*/, ""), compareVersions(plain, other.replace(/\+.*/, ""))];
        expect(admits(`>=${bound}`, plain)).toBe(order >= 0);
        expect(admits(`<=${bound}`, plain)).toBe(order <= 0);
        expect(admits(`==${bound}`, plain)).toBe(order === 0);
        expect(admits(`!=${bound}`, plain)).toBe(order !== 0);
        expect(admits(`==${bound}`, one)).toBe(order === 0);
        // Never both, and never where the order says otherwise.
        const [below, above] = [admits(`<${bound}`, plain), admits(`>${bound}`, plain)];
        expect([below && order >= 0, above && order <= 0]).toEqual([false, false]);
        expect(admits(`===${one}`, one)).toBe(true);
      }),
    );
  });

  test("in any text is understood or not, and soon", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 600 }), version, (text, one) => {
        if (isSpecifiers(text)) expect(typeof admits(text, one)).toBe("boolean");
        expect(versionsIn(text).every(isVersion)).toBe(true);
      }),
    );
    expect(isSpecifiers(`>=${"1.".repeat(250)}`)).toBe(false);
    expect(isSpecifiers(`==${"1a".repeat(250)}`)).toBe(false);
  });
});
