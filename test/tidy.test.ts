import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const SRC = join(ROOT, "src");
const LINES_MAX = 320;

/**
 * What each part of `src` may import, besides itself. The drawing of the layers in `src/README.md`, as data.
 * `root` are the files of `src` that everything rests on; `engine` those that put the parts together.
 */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  root: [],
  protocol: ["root"],
  guest: [],
  worker: ["root", "protocol", "guest"],
  capabilities: ["root", "redis"],
  contracts: ["root"],
  redis: ["root"],
  fleet: ["root", "protocol", "redis"],
  machine: ["root", "protocol", "capabilities", "redis", "fleet", "runtimes", "executor", "broker"],
  ledger: ["root", "capabilities", "redis"],
  package: ["root", "capabilities"],
  tools: [],
  runtimes: ["root", "protocol", "package"],
  tool: ["root", "protocol", "capabilities", "contracts", "package", "runtimes"],
  schedule: ["root"],
  executor: ["root", "protocol", "redis", "fleet", "worker", "runtimes"],
  broker: ["root", "protocol", "capabilities", "executor", "tool"],
  engine: [
    "root",
    "protocol",
    "capabilities",
    "contracts",
    "ledger",
    "package",
    "redis",
    "runtimes",
    "tool",
    "schedule",
    "executor",
    "broker",
  ],
  debug: ["root", "protocol", "guest", "worker", "runtimes", "executor", "broker", "engine"],
  ecosystems: ["index", "root", "capabilities", "contracts", "package", "tool", "broker", "engine"],
  testing: ["index", "root", "contracts", "engine", "ecosystems"],
  config: ["root", "protocol", "capabilities", "package", "tool", "access", "engine"],
  index: ["root", "protocol", "capabilities", "contracts", "package", "tool", "executor", "broker", "engine", "config"],
  access: ["root", "contracts", "tool", "engine"],
  surfaces: [
    "config",
    "index",
    "access",
    "root",
    "contracts",
    "package",
    "engine",
    "debug",
    "machine",
    "tool",
    "capabilities",
    "broker",
    "ecosystems",
  ],
};
const ENGINE_FILES = [
  "admission.ts",
  "allowance.ts",
  "assembly.ts",
  "audit.ts",
  "audit-file.ts",
  "call-failure.ts",
  "call-log.ts",
  "call-output.ts",
  "authority.ts",
  "child-call.ts",
  "engine.ts",
  "engine-call.ts",
  "engine-stats.ts",
  "arguments.ts",
  "events.ts",
  "execute-options.ts",
  "explanation.ts",
  "idempotency.ts",
  "log.ts",
  "metrics.ts",
  "options.ts",
  "reconfiguration.ts",
  "recorder.ts",
  "registrar.ts",
  "recording.ts",
  "replay-call.ts",
  "tracing.ts",
];
/** The only file of the guest that the other side of the boundary may import: the face between the two. */
const GUEST_FACE = "guest/host.ts";

const files = readdirSync(SRC, { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".ts"))
  .map((name) => name.split(sep).join("/"));

function partOf(file: string): string {
  const [first = ""] = file.split("/");
  if (first !== file) return first;
  if (file === "index.ts") return "index";
  return ENGINE_FILES.includes(file) ? "engine" : "root";
}

function importsOf(file: string): string[] {
  const text = readFileSync(join(SRC, file), "utf8");
  const found = [...text.matchAll(/(?:from|import\()\s*"(\.[^"]+)"/g)].map((match) => match[1] ?? "");
  return found.map((path) =>
    relative(SRC, join(SRC, dirname(file), path))
      .split(sep)
      .join("/"),
  );
}

test("imports follow the layers", () => {
  const wrong: string[] = [];
  for (const file of files) {
    const part = partOf(file);
    for (const target of importsOf(file)) {
      const other = partOf(target);
      if (other === part) continue;
      const allowed = MAY_IMPORT[part]?.includes(other) ?? false;
      if (!allowed || (other === "guest" && target !== GUEST_FACE)) wrong.push(`${file} imports ${target}`);
    }
  }
  expect(wrong).toEqual([]);
});

test("every part of src has its place in the layers", () => {
  expect([...new Set(files.map(partOf))].filter((part) => MAY_IMPORT[part] === undefined)).toEqual([]);
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
  const left = files.filter((file) => /\b(?:TODO|FIXME|XXX)\b|\bas any\b|: any\b(?!,)/.test(codeOf(file)));
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
