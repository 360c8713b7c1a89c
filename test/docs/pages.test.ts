import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { describe, expect, test } from "vitest";
import { COMMAND, generatedPages } from "../../docs/generate/pages.ts";
import { PACKAGES, ROOT } from "./linked-folder.ts";
import { commandsOf, fileOf, type Page, printsOf, proseOf, readPages, RUNBOOKS, skipOf } from "./markdown.ts";
import { DENIED } from "./phrases.ts";

const README_LINES_MAX = 200;
const PAGE_LINES_MAX = 300;
const SKIPPED_MAX = 10;
/** Pictures are parts of every clone. */
const PICTURE_BYTES_MAX = 60 * 1024;
/** Languages under other names would not be looked at. */
const OTHER_NAMES = ["typescript", "bash", "shell", "console", "yml", "javascript", "python"];

const pages = readPages();
const generated = await generatedPages();
const isGenerated = ({ path }: Page) => path.startsWith("docs/") && generated.has(path.slice("docs/".length));
const written = pages.filter((page) => !isGenerated(page));
const blocks = written.flatMap((page) => page.blocks.map((block) => ({ page, block })));

describe("generated pages", () => {
  test.each([...generated])(`docs/%s is what ${COMMAND} writes`, (name, text) => {
    const file = join(ROOT, "docs", name);
    const found = existsSync(file) ? readFileSync(file, "utf8") : "";
    // The message is for whoever changed a table: the difference itself may be long.
    if (found !== text) throw new Error(`docs/${name} is stale: run \`${COMMAND}\``);
  });

  test("no cell of a table has half of a piece of code", () => {
    const rows = [...generated.values()].flatMap((text) => text.split("\n").filter((line) => line.startsWith("|")));
    const cells = rows.flatMap((row) => row.split(/(?<!\\)\|/));
    expect(cells.filter((cell) => cell.split("`").length % 2 === 0)).toEqual([]);
  });

  test("none is left of an error code that is gone", () => {
    const errors = readdirSync(join(ROOT, "docs/reference/errors")).map((name) => `reference/errors/${name}`);
    expect(errors.filter((name) => !generated.has(name))).toEqual([]);
  });
});

describe("length", () => {
  test(`README.md has at most ${README_LINES_MAX} lines`, () => {
    expect(linesOf("README.md")).toBeLessThanOrEqual(README_LINES_MAX);
  });

  test(`a page has at most ${PAGE_LINES_MAX} lines`, () => {
    const others = written.filter(({ path }) => path !== "README.md");
    expect(others.filter(({ path }) => linesOf(path) > PAGE_LINES_MAX).map(({ path }) => path)).toEqual([]);
  });
});

describe("links", () => {
  const anchors = new Map(pages.map((page) => [page.path, anchorsOf(page)]));

  test.each(pages.map((page) => [page.path, page] as const))("%s links to what there is", (_path, page) => {
    const broken = linksOf(page).filter((link) => {
      const [target = "", anchor] = link.split("#");
      const path = target === "" ? page.path : normalize(join(dirname(page.path), decodeURI(target)));
      if (path.startsWith("..") || !existsSync(join(ROOT, path))) return true;
      if (anchor === undefined) return false;
      return statSync(join(ROOT, path)).isDirectory() || anchors.get(path)?.has(anchor) !== true;
    });
    expect(broken).toEqual([]);
  });
});

describe("pictures", () => {
  const shown = pages.flatMap((page) =>
    [...proseOf(page).matchAll(/!\[([^\]]*)\]\(([^)]+)\)/g)].map(([, alt = "", target = ""]) => ({
      alt,
      path: normalize(join(dirname(page.path), target)),
    })),
  );

  test(`have at most ${PICTURE_BYTES_MAX / 1024} KiB, and are on some page`, () => {
    const files = readdirSync(join(ROOT, "docs/images")).map((name) => `docs/images/${name}`);
    const sizes = files.map((file) => statSync(join(ROOT, file)).size);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(PICTURE_BYTES_MAX);
    expect(files.filter((file) => !shown.some(({ path }) => path === file))).toEqual([]);
  });

  test("say in words what they show", () => {
    expect(shown.filter(({ alt }) => alt.length < 20)).toEqual([]);
  });
});

describe("words", () => {
  test.each(pages.map((page) => [page.path, page] as const))(
    "%s has no phrase that needs a second reading",
    (_path, page) => {
      expect(DENIED.flatMap((phrase) => proseOf(page).match(phrase)?.[0] ?? [])).toEqual([]);
    },
  );
});

describe("blocks of code", () => {
  const where = ({ page, block }: (typeof blocks)[number]) => `${page.path}:${block.line}`;

  test("have the names of languages that are looked at", () => {
    expect(blocks.filter(({ block }) => OTHER_NAMES.includes(block.language)).map(where)).toEqual([]);
  });

  test('are written to a file, run and compared, or have skip="why"', () => {
    const unchecked = blocks.filter(({ page, block }) => {
      if (skipOf(block) !== undefined || fileOf(block) !== undefined) return false;
      if (block.language === "ts") return printsOf(block).length === 0;
      // `runbooks.system.test.ts` runs those of runbooks.
      if (block.language === "sh") return !page.path.startsWith(RUNBOOKS) && !commandsOf(block).every(isChecked);
      return block.language === "yaml" || block.language === "js";
    });
    expect(unchecked.map(where)).toEqual([]);
  });

  test("of JSON are JSON", () => {
    const found = pages.flatMap((page) => page.blocks.map((block) => ({ page, block })));
    const json = found.filter(({ block }) => block.language === "json" && skipOf(block) === undefined);
    expect(json.length).toBeGreaterThan(30);
    expect(json.filter(({ block }) => !isJson(block.text)).map(where)).toEqual([]);
  });

  test(`are skipped ${SKIPPED_MAX} times at most`, () => {
    const skipped = blocks.filter(({ block }) => skipOf(block) !== undefined).map(where);
    expect(skipped.length, skipped.join(", ")).toBeLessThanOrEqual(SKIPPED_MAX);
  });

  test("install only packages that the repository has", () => {
    const installed = blocks
      .filter(({ block }) => block.language === "sh" && skipOf(block) === undefined)
      .flatMap(({ block }) => commandsOf(block).flatMap(({ line }) => packagesOf(line)));
    expect(installed.filter((name) => name !== "glovebox" && !PACKAGES.includes(name))).toEqual([]);
  });
});

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** A command is checked by what it prints; `npm install` by the packages that it names, a server by who calls it. */
function isChecked({ line, prints }: { readonly line: string; readonly prints: readonly string[] }): boolean {
  return prints.length > 0 || /^npm (?:install|i|ci)\b/.test(line) || /^npx glovebox serve\b/.test(line);
}

function packagesOf(line: string): readonly string[] {
  const [, names = ""] = /^npm (?:install|i) (.+)$/.exec(line) ?? [];
  return names.split(/\s+/).filter((name) => name !== "" && !name.startsWith("-"));
}

function linesOf(path: string): number {
  return readFileSync(join(ROOT, path), "utf8").trimEnd().split("\n").length;
}

/** Links to this repository, in the forms `[text](target)` and `[name]: target`. */
function linksOf(page: Page): readonly string[] {
  const prose = proseOf(page).replaceAll(/`[^`\n]*`/g, "`");
  const inline = [...prose.matchAll(/\]\((?:<([^>]+)>|([^)\s]+))[^)]*\)/g)].map(([, a, b]) => a ?? b ?? "");
  const named = [...prose.matchAll(/^\[[^\]]+\]: (\S+)/gm)].map(([, target = ""]) => target);
  return [...inline, ...named].filter((target) => !/^[a-z]+:/.test(target));
}

/** The anchors of a page's headlines, as GitHub makes them. */
function anchorsOf(page: Page): ReadonlySet<string> {
  const found = new Set<string>();
  for (const [, title = ""] of proseOf(page).matchAll(/^#{1,6} +(.+?) *#*$/gm)) {
    const text = title.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1").toLowerCase();
    const anchor = text.replaceAll(/[^\p{L}\p{N}_ -]/gu, "").replaceAll(" ", "-");
    let name = anchor;
    for (let copy = 1; found.has(name); copy++) name = `${anchor}-${copy}`;
    found.add(name);
  }
  for (const [, id = ""] of page.text.matchAll(/<a (?:id|name)="([^"]+)"/g)) found.add(id);
  return found;
}
