import { expect, test } from "vitest";
import { importsIn, packageOfModule } from "../../src/python/runtime/imports.ts";

const found = (text: string, folder = "") => [...importsIn(text, folder)].sort();

test("import statements name their modules, and what of them may be a module", () => {
  expect(found("import os, json.decoder as d\nfrom a.b import c as x, d\n    import inner # late\n")).toEqual([
    "a.b",
    "a.b.c",
    "a.b.d",
    "inner",
    "json.decoder",
    "os",
  ]);
  expect(found("from a import (\n    b,  # first\n    c,\n)\nfrom d import e, \\\n    f\n")).toEqual([
    "a",
    "a.b",
    "a.c",
    "d",
    "d.e",
    "d.f",
  ]);
});

test("calls that import a module name it where it is a text, in code", () => {
  const text = [
    "one = __import__('first')",
    'two = importlib.import_module(  "second.part", package=None)',
    "# __import__('third')",
    "note = \"__import__('fourth')\"",
    "import_module(name)",
    "import_module(f'{name}.part')",
  ];
  expect(found(text.join("\n"))).toEqual(["first", "second.part"]);
});

test("relative imports count from the module's package", () => {
  expect(found("from . import a\nfrom .b import c\nfrom ..d import e\n", "top.inner")).toEqual([
    "top.d",
    "top.d.e",
    "top.inner",
    "top.inner.a",
    "top.inner.b",
    "top.inner.b.c",
  ]);
});

test("texts, comments and what only type checkers import are left out", () => {
  const text = [
    '"""Use it so:\nimport first\nfrom second import third\n"""',
    "# import fourth",
    "note = 'import fifth'",
    "if TYPE_CHECKING:\n    import sixth\n\n    from seventh import eighth\nimport last",
    "if typing.TYPE_CHECKING:\n    import ninth\nelse:\n    import tenth",
  ].join("\n");
  expect(found(text)).toEqual(["last", "tenth"]);
});

test("a hostile text is read in time that grows with it", () => {
  expect(found(`${'"'.repeat(100_000)}\n${"'".repeat(100_001)}`)).toEqual([]);
  expect(found(`from a import (${"\n".repeat(200_000)}`).length).toBeLessThan(3);
});

test("a package has its module's name, but for a few", () => {
  expect(["prompt_toolkit", "PIL", "yaml"].map(packageOfModule)).toEqual(["prompt-toolkit", "pillow", "pyyaml"]);
});
