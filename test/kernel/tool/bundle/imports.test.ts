import { build } from "esbuild";
import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { stopBundler } from "../../../../src/kernel/tool/bundle/bundle.ts";
import { isAlone } from "../../../../src/kernel/tool/bundle/imports.ts";

afterAll(stopBundler);

describe("a module needs others, or may,", () => {
  const SPACES = ["", " ", "\n", "\t", "\u00a0", "\ufeff", "\u2028", "/**/", "/* from */ ", "//\n"];
  const FORMS: readonly ((space: string) => string)[] = [
    (space) => `import${space}"./a.js"`,
    (space) => `import${space}{a}${space}from${space}"./a.js"`,
    (space) => `import${space}*${space}as a${space}from${space}'./a.js'`,
    (space) => `export${space}*${space}from${space}"./a.js"`,
    (space) => `export${space}*${space}as${space || " "}a from${space}'./a.js'`,
    (space) => `export${space}{default}${space}from${space}"./a.js"`,
    (space) => `export${space}{a as default}from${space}'./a.js'`,
    (space) => `export${space}{a}from${space}\`./a.js\``,
    (space) => `x = import${space}("./a.js")`,
    (space) => `x = import${space}.meta`,
    (space) => `x = require${space}("./a.js")`,
    (space) => `x = (0,${space}require)("./a.js")`,
    (space) => `x = require${space}.resolve("./a.js")`,
    (space) => `import a =${space}require("./a.js")`,
  ];

  test.each(FORMS.map((form) => form(" ")))("where it says %s, however it is spaced", (text) => {
    const form = FORMS.find((one) => one(" ") === text);
    for (const space of SPACES) expect(isAlone(`const b = 1;${form?.(space)}\nb()`)).toBe(false);
  });

  test.each([
    "requ\\u0069re('./a.js')",
    "requ\\u{69}re('./a.js')",
    "export * from <!-- a\n'./a.js'",
    "export * from\n--> a\n'./a.js'",
    "export default () => global.a",
    "export default process.env.NODE_ENV",
    "export default (process)['env']['NODE\\x5fENV']",
  ])("where it says %s", (text) => {
    expect(isAlone(text)).toBe(false);
  });
});

test.each([
  "export default ({ a, b }) => ({ sum: a + b });",
  "export const spec = { required: ['a'], important: true };",
  "export default (input) => Array.from(input.from)",
  "export { a as from }; const from = 1, a = from",
  "globalThis.a = 1",
  "export default function processes(processing) {}",
])("a module that says %s is alone", (text) => {
  expect(isAlone(text)).toBe(true);
});

test("esbuild finds no import in any module that is alone", async () => {
  const space = fc.constantFrom("", " ", "\n", "/**/", "//\n", "\ufeff", "\u2028", "<!--\n", "\n-->\n");
  const before = fc.constantFrom(
    "import",
    "export",
    "export {a}",
    "import a, {b}",
    "export *",
    "x = import",
    "x = require",
    "import x = require",
  );
  const between = fc.constantFrom("", "from", "* as a", "type", "x", "`", "'", "(", "/", "requ\\u0069re(");
  const after = fc.constantFrom("'./a.js'", '"./a.js"', "`./a.js`", "('./a.js')", "(x)", ".meta", "'./a.js'); (x", "");
  const module = fc.tuple(space, before, space, between, space, after, space).map((parts) => parts.join(""));
  let found = 0;
  await fc.assert(
    fc.asyncProperty(module, async (contents) => {
      const stdin = { contents, loader: "ts" } as const;
      const options = { bundle: true, write: false, metafile: true, logLevel: "silent" } as const;
      const built = await build({ ...options, stdin, external: ["*"] }).catch(() => undefined);
      const imports = Object.values(built?.metafile.inputs ?? {}).flatMap((input) => input.imports);
      if (imports.length === 0) return;
      found++;
      expect(isAlone(contents)).toBe(false);
    }),
    { numRuns: 1_000 },
  );
  expect(found).toBeGreaterThan(20);
});
