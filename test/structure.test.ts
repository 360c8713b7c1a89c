import { readdirSync, readFileSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { files, importsOf, SRC } from "./source-files.ts";
import { DENIED } from "./docs/phrases.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const LINES_MAX = 400;
const TINY_LINES = 15;
/** Files that list the phrases. */
const SAY_THEM = ["test/docs/phrases.ts"];

/** The rooms of `src` in their one order: a room imports from itself and from the rooms before it. */
const ROOMS = [
  "base",
  "guest",
  "store",
  "broker",
  "tool",
  "executor",
  "fleet",
  "engine",
  "code-mode",
  "ecosystems",
  "service",
];
/** The only files at the root of `src`. The index names what the package exports, so it imports from every room. */
const AT_THE_ROOT = ["README.md", "index.ts"];
/** The only file of the guest that other rooms import: the types of what crosses the isolate's boundary. */
const GUEST_FACE = "guest/host.ts";
/** The only file that the guest imports from another room; it imports nothing itself. */
const GUEST_JSON = "base/exact-json.ts";

const inRooms = files.filter((file) => file !== "index.ts");

function roomOf(file: string): string {
  return file.split("/")[0] ?? "";
}

function mayImport(file: string, target: string): boolean {
  const [from, to] = [roomOf(file), roomOf(target)];
  if (from === to) return true;
  if (from === "guest") return target === GUEST_JSON;
  if (to === "guest") return target === GUEST_FACE;
  return ROOMS.includes(to) && ROOMS.indexOf(to) < ROOMS.indexOf(from);
}

test("src has eleven rooms, and nothing else but its index and its README", () => {
  expect(readdirSync(SRC).toSorted()).toEqual([...ROOMS, ...AT_THE_ROOT].toSorted());
});

test("a room imports only from the rooms before it", () => {
  const wrong = inRooms.flatMap((file) =>
    importsOf(file)
      .filter((target) => !mayImport(file, target))
      .map((target) => `${file} imports ${target}`),
  );
  expect(wrong).toEqual([]);
});

test("no imports go in circles", () => {
  const graph = new Map(files.map((file) => [file, importsOf(file)]));
  const done = new Set<string>();
  const circles: string[] = [];
  const visit = (file: string, path: readonly string[]): void => {
    if (path.includes(file)) circles.push([...path.slice(path.indexOf(file)), file].join(" → "));
    if (done.has(file) || path.includes(file)) return;
    for (const target of graph.get(file) ?? []) visit(target, [...path, file]);
    done.add(file);
  };
  for (const file of files) visit(file, []);
  expect(circles).toEqual([]);
});

test("no file is long", () => {
  const long = files.filter((file) => readFileSync(join(SRC, file), "utf8").split("\n").length > LINES_MAX);
  expect(long).toEqual([]);
});

test("names say what a file is", () => {
  expect(files.filter((file) => /(?:^|\/)(?:utils?|helpers?|common|misc|shared)(?:\.|\/)/.test(file))).toEqual([]);
});

test("nothing is left over", () => {
  const left = files.filter((file) => /\b(?:TODO|FIXME|XXX)\b|\bas any\b|: any\b(?![,.])/.test(codeOf(file)));
  expect(left).toEqual([]);
});

/** A file's text without the line that follows a lint directive: that one has its reason beside it. */
function codeOf(file: string): string {
  return readFileSync(join(SRC, file), "utf8").replaceAll(/\/\/ oxlint-disable-next-line.*\n.*\n/g, "");
}

test("prose and code name no machine", () => {
  const texts = [...files.map((file) => join(SRC, file)), join(ROOT, "README.md"), join(ROOT, "package.json")];
  const wrong = texts.filter((file) => /\/(?:work|farm|home|root)\/[a-z]/.test(readFileSync(file, "utf8")));
  expect(wrong.map((file) => relative(ROOT, file))).toEqual([]);
});

test("no file is tiny, but an index and a face that loads or lists others", () => {
  const faces = ["service/config/load.ts", "engine/engine.ts"];
  const tiny = files.filter((file) => readFileSync(join(SRC, file), "utf8").split("\n").length - 1 <= TINY_LINES);
  expect(tiny.filter((file) => !file.endsWith("index.ts") && !faces.includes(file))).toEqual([]);
});

test("no text has a phrase that needs a second reading", () => {
  const texts = ["src", "test", "bench", "build", "fixtures", "examples"].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
      .map((name) => join(folder, name))
      .filter((name) => /\.(?:ts|js|py|c|md|ya?ml)$/.test(name) && !name.includes("node_modules")),
  );
  const found = texts
    .filter((name) => !SAY_THEM.includes(name.split(sep).join("/")))
    .flatMap((name) => {
      // In Python `is None` is code.
      const text = readFileSync(join(ROOT, name), "utf8").replaceAll(/\bis None\b/g, "");
      return DENIED.flatMap((phrase) => (phrase.test(text) ? [`${name}: ${phrase}`] : []));
    });
  expect(found).toEqual([]);
});
