import fc from "fast-check";
import { symlink } from "node:fs/promises";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { PackageError } from "../../src/kernel/tool/package/step.ts";
import { isMet, readMarker } from "../../src/python/runtime/marker.ts";
import { counts, readRequirement } from "../../src/python/runtime/requirement.ts";
import { parseRequirements, readRequirements } from "../../src/python/runtime/requirements.ts";
import { newTree } from "../kernel/tool/package/opening.ts";
import { problemOf } from "./refusal.ts";

const read = (text: string) => parseRequirements(text).map(({ name, extras, versions }) => [name, extras, versions]);
const holds = (marker: string, extra = ""): boolean => isMet(readMarker(marker), extra);

describe("a requirement is read", () => {
  test.each<[string, string, readonly string[], string]>([
    ["six", "six", [], ""],
    ["six==1.17", "six", [], "==1.17"],
    ["six >= 1.2, <2", "six", [], ">=1.2,<2"],
    ["Foo.Bar_baz", "foo-bar-baz", [], ""],
    ["rich[jupyter, All_Of]~=13.1", "rich", ["jupyter", "all-of"], "~=13.1"],
    ["old (>=1.0)", "old", [], ">=1.0"],
    ["old[a] (>=1.0) ; python_version >= '3'", "old", ["a"], ">=1.0"],
    ["a1;os_name=='posix'", "a1", [], ""],
    ["empty[]", "empty", [], ""],
    ["x===1.0", "x", [], "===1.0"],
  ])("as it is written: %s", (line, name, extras, versions) => {
    expect(read(line)).toEqual([[name, extras, versions]]);
  });

  test("from lines with comments, empty ones, and some that go on in the next [C13 C14 C15]", () => {
    const text =
      "\ufeff# What it needs.\r\nsix # for old ones\r\n\n   \nrich >= 13, \\\n  < 14\n#numpy\nattrs#not-a-comment\n";
    expect(() => read(text)).toThrow("line 8");
    expect(read(text.replace("#not-a-comment", ""))).toEqual([
      ["six", [], ""],
      ["rich", [], ">=13,<14"],
      ["attrs", [], ""],
    ]);
  });

  test("with the hashes that its wheel may have", () => {
    const [one, other] = ["a".repeat(64), "B".repeat(64)];
    const [requirement] = parseRequirements(`six==1.17 \\\n  --hash=sha256:${one} \\\n  --hash sha256:${other}\n`);
    expect(requirement).toMatchObject({ name: "six", versions: "==1.17", hashes: [one, other.toLowerCase()] });
  });

  test("where its condition holds, and not where it does not", () => {
    const text = 'a; python_version >= "3.8"\nb; sys_platform == "win32"\nc; extra == "x"\nd; os_name == "posix"';
    expect(read(text).map(([name]) => name)).toEqual(["a", "d"]);
  });
});

describe("a requirement is refused by its line", () => {
  test.each([
    ["-r other.txt", "names another file"],
    ["--requirement=other.txt", "names another file"],
    ["-c limits.txt", "names another file"],
    ["-e .", "names a folder"],
    ["--editable ./x", "names a folder"],
    ["--index-url https://pypi.example.com/simple", "is an option of pip's"],
    ["-i https://pypi.example.com/simple", "is an option of pip's"],
    ["--no-index", "is an option of pip's"],
    ["six @ https://example.com/six.whl", "an address or a file"],
    ["six[a]@https://example.com/six.whl", "an address or a file"],
    ["https://example.com/six.whl", "an address or a file"],
    ["git+https://example.com/six.git@main", "an address or a file"],
    ["./six-1.0-py3-none-any.whl", "an address or a file"],
    ["six-1.0-py3-none-any.whl", "an address or a file"],
    ["..\\six", "an address or a file"],
    ["six --global-option=x", "is not supported"],
    ["six --hash=md5:abc", "is not supported"],
    ["six==", "is not understood"],
    ["six=1", "is not understood"],
    ["six 1.0", "is not understood"],
    ["six>=1.0 or <2", "is not understood"],
    ["six[a", "is not understood"],
    ["six[a!]", "is not understood"],
    ["-", "is an option of pip's"],
    ["_six", "is not understood"],
    ["six.", "is not understood"],
    ["$HOME", "is not understood"],
    ["six; python_version", "marker"],
    ["six; nobody == '1'", "marker"],
    ["six;", "marker"],
    [`six${"x".repeat(200)}`, "is not understood"],
    [`six;${"(".repeat(100)}os_name=='a'${")".repeat(100)}`, "marker"],
  ])("%s", async (line, problem) => {
    const message = await problemOf(() => parseRequirements(`ok\n\n${line}`));
    expect(message).toContain("code/requirements.txt, line 3");
    expect(message).toContain(problem);
    expect(message.length).toBeLessThan(700);
  });

  test("where there are too many, or the file is too large", async () => {
    expect(await problemOf(() => parseRequirements("a\n".repeat(201)))).toContain("more than 200 packages");
    const root = await newTree({ "code/requirements.txt": `#${"x".repeat(256 * 1024)}` });
    expect(await problemOf(() => readRequirements(root))).toContain("larger than 262144 bytes");
  });

  test("where the file is a link", async () => {
    const root = await newTree({ "secret.txt": "six", "code/function.py": "" });
    await symlink("../secret.txt", path.join(root, "code/requirements.txt"));
    expect(await problemOf(() => readRequirements(root))).toContain("is a link");
  });
});

test("nothing is asked for where there is no file [C13]", async () => {
  expect(await readRequirements(await newTree({ "code/function.py": "" }))).toEqual([]);
});

describe("a condition holds", () => {
  test.each([
    'python_version >= "3.8"',
    '"3.8" <= python_version',
    "python_full_version < '4' and python_version > '3.9'",
    "python_version == '3.*'",
    "python_version in '3.13, 3.14'",
    "python_version not in '2.7 3.1'",
    "sys_platform != 'win32' and platform_system != 'Windows'",
    "sys_platform == 'linux' or (os_name == 'posix' and implementation_name == 'cpython')",
    "'emscripten' in sys_platform",
    "platform_python_implementation == 'CPython'",
    "python_implementation=='CPython'",
    "os.name == 'posix'",
    'platform_machine == "wasm32"',
  ])("here: %s", (marker) => {
    expect(holds(marker)).toBe(true);
  });

  test.each([
    "python_version < '3.10'",
    "sys_platform == 'linux'",
    "extra == 'socks'",
    "os_name == 'nt' or sys_platform == 'darwin' and os_name == 'posix'",
    "platform_system ~= 'Emscripten'",
  ])("not here: %s", (marker) => {
    expect(holds(marker)).toBe(false);
  });

  test("for who asks for an extra, however it is written", () => {
    expect(holds("extra == 'Use_Chardet'", "use-chardet")).toBe(true);
    const requirement = readRequirement('six; extra == "a" or extra == "b"', "a test");
    expect([[], ["a"], ["b"], ["c"], ["c", "b"]].map((extras) => counts(requirement, extras))).toEqual([
      false,
      true,
      true,
      false,
      true,
    ]);
  });
});

test("a line that is made to take long does not", async () => {
  const hostile = ["a", "a[", "a>=", "a;", "a --hash=x", "", "#", "a @"].flatMap((start) =>
    [" ", "\t", " #", "[", "(", "1.", "a", "-", "'", "= "].flatMap((filler) =>
      ["", "(", "\u2028", "!"].map((end) => start + filler.repeat(Math.floor(200_000 / filler.length)) + end),
    ),
  );
  for (const text of hostile) {
    const found = await Promise.resolve(text)
      .then(parseRequirements)
      .catch((error: unknown) => error);
    expect(Array.isArray(found) || found instanceof PackageError).toBe(true);
  }
});

test("any text is understood or refused in words, and nothing else", () => {
  const words = fc.constantFrom(
    "six",
    "[",
    "]",
    ">=",
    "1.0",
    ",",
    ";",
    "(",
    ")",
    "and",
    "'",
    '"',
    "extra",
    "==",
    " ",
    "@",
  );
  const text = fc.oneof(
    fc.string({ maxLength: 300 }),
    fc.array(words, { maxLength: 30 }).map((parts) => parts.join("")),
  );
  fc.assert(
    fc.property(fc.array(text, { maxLength: 5 }), (lines) => {
      try {
        for (const { name } of parseRequirements(lines.join("\n"))) expect(name).toMatch(/^[a-z\d][a-z\d-]*$/);
      } catch (error) {
        expect(error).toBeInstanceOf(PackageError);
      }
    }),
  );
});

test("what is written of a requirement is what is read of it", () => {
  const word = fc.stringMatching(/^[a-z\d]{1,8}$/);
  const specifier = fc
    .tuple(fc.constantFrom(">=", "<=", "==", "!=", "<", ">", "~="), fc.nat(30), fc.nat(30))
    .map(([operator, major, minor]) => `${operator}${major}.${minor}`);
  fc.assert(
    fc.property(word, fc.array(word, { maxLength: 3 }), fc.array(specifier, { maxLength: 3 }), (name, extras, all) => {
      const versions = all.join(",");
      const listed = extras.length > 0 ? `[${extras.join(",")}]` : "";
      expect(read(`${name}${listed}${versions} ; os_name == 'posix' # why`)).toEqual([[name, extras, versions]]);
    }),
  );
});
