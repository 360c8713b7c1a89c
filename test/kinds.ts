import { readdirSync, readFileSync } from "node:fs";
import { join, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { type ComponentName, componentsOf, MISSING } from "./components.ts";

const TEST = fileURLToPath(new URL(".", import.meta.url));

/**
 * Kinds of test. A file's name says its kind: `name.<kind>.test.ts`, and `name.test.ts` is a unit test.
 * `needs` are components that every file of the kind uses; a single file names its own with `// needs: …`.
 */
export const KINDS = {
  unit: { what: "one module, in one process", needs: [] },
  smoke: { what: "one call through each executor, contract and surface", needs: [] },
  engine: { what: "an engine with its executor on threads", needs: [] },
  system: { what: "processes: executors, the command line, servers", needs: [] },
  python: { what: "tools in Python", needs: [] },
  fleet: { what: "several servers and machines, and stores in Redis", needs: ["redis"] },
  attack: { what: "hostile tools, requests and archives", needs: [] },
  conformance: { what: "public suites of protocols, against our servers", needs: [] },
  browser: { what: "the console in Chromium", needs: ["chromium"] },
  slow: { what: "chaos, load, soak, benchmarks, npm packages", needs: [] },
} as const satisfies Readonly<Record<string, { readonly what: string; readonly needs: readonly ComponentName[] }>>;

export type Kind = keyof typeof KINDS;

export const KIND_NAMES = Object.keys(KINDS) as Kind[];

export interface TestFile {
  /** From the root of the repository. */
  readonly path: string;
  readonly kind: Kind;
  /** Components that it uses and that this machine lacks: it is skipped where there are any. */
  readonly missing: readonly ComponentName[];
}

/** All test files, with their kinds. */
export function testFiles(): TestFile[] {
  return readdirSync(TEST, { recursive: true, encoding: "utf8" })
    .map((name) => name.split(sep).join("/"))
    .filter((name) => name.endsWith(".test.ts"))
    .map((name) => {
      const kind = kindOf(name);
      const named: readonly ComponentName[] = [
        ...KINDS[kind].needs,
        ...componentsOf(readFileSync(join(TEST, name), "utf8")),
      ];
      return { path: `test/${name}`, kind, missing: MISSING.filter((component) => named.includes(component)) };
    });
}

function kindOf(name: string): Kind {
  const word = /\.([a-z]+)\.test\.ts$/.exec(name)?.[1] ?? "unit";
  const kind = KIND_NAMES.find((each) => each === word);
  if (kind === undefined)
    throw new Error(`test/${name} has no known kind: "${word}" is not one of ${KIND_NAMES.join(", ")}`);
  return kind;
}
