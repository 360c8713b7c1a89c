import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { files, filesBelow, importsOf, SRC } from "./source-files.ts";
import { DENIED } from "./docs/phrases.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const LINES_MAX = 400;
const TINY_LINES = 15;
/** Files that list the phrases. */
const SAY_THEM = ["test/docs/phrases.ts"];

/** The rooms of the kernel in their one order: a room imports from itself and from the rooms before it. */
const ROOMS = ["base", "guest", "store", "broker", "tool", "executor", "engine"];
const KERNEL = "kernel/";
/** The only file of a folder `guest` that others import: the types of what crosses the isolate's boundary. */
const GUEST_FACE = "kernel/guest/host.ts";
/** The only file that a folder `guest` imports from others; it imports nothing itself. */
const GUEST_JSON = "kernel/base/exact-json.ts";

function roomOf(file: string): string {
  return file.slice(KERNEL.length).split("/")[0] ?? "";
}

const isInGuest = (file: string): boolean => /(?:^|\/)guest\//.test(file);

function mayImport(file: string, target: string): boolean {
  if (isInGuest(file)) return isInGuest(target) || target === GUEST_JSON;
  if (isInGuest(target)) return target === GUEST_FACE;
  if (!file.startsWith(KERNEL) || !target.startsWith(KERNEL)) return true;
  const [from, to] = [roomOf(file), roomOf(target)];
  return ROOMS.includes(to) && ROOMS.indexOf(to) <= ROOMS.indexOf(from);
}

test("the kernel has seven rooms, and nothing else but its README", () => {
  expect(readdirSync(join(SRC, KERNEL)).toSorted()).toEqual([...ROOMS, "README.md"].toSorted());
});

test("a room of the kernel imports only from the rooms before it, and programs inside isolates only each other", () => {
  const wrong = files.flatMap((file) =>
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
  const faces = ["server/config/load.ts", "kernel/engine/engine.ts", "cli/main.ts"];
  const tiny = files.filter((file) => readFileSync(join(SRC, file), "utf8").split("\n").length - 1 <= TINY_LINES);
  expect(tiny.filter((file) => !file.endsWith("index.ts") && !faces.includes(file))).toEqual([]);
});

test("no text has a phrase that needs a second reading", () => {
  const texts = ["src", "test", "bench", "build", "fixtures", "examples"].flatMap((folder) =>
    filesBelow(join(ROOT, folder))
      .map((name) => `${folder}/${name}`)
      .filter((name) => /\.(?:ts|js|py|c|md|ya?ml)$/.test(name)),
  );
  const found = texts
    .filter((name) => !SAY_THEM.includes(name))
    .flatMap((name) => {
      // In Python `is None` is code.
      const text = readFileSync(join(ROOT, name), "utf8").replaceAll(/\bis None\b/g, "");
      return DENIED.flatMap((phrase) => (phrase.test(text) ? [`${name}: ${phrase}`] : []));
    });
  expect(found).toEqual([]);
});
