import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type ComponentName, componentsOf, MISSING } from "./components.ts";
import { filesBelow } from "./source-files.ts";

const TEST = fileURLToPath(new URL(".", import.meta.url));

/**
 * Kinds of test. A file's name says its kind: `name.<kind>.test.ts`, and `name.test.ts` is a unit test.
 * `needs` are components that every file of the kind uses; a single file names its own with `// needs: …`. `isShared`:
 * files of the kind run one after another in the same processes, as starting one costs more than most of them.
 */
export const KINDS = {
  unit: { what: "one module, in one process", needs: [], isShared: true },
  smoke: { what: "one call through each executor, contract and surface", needs: [], isShared: false },
  engine: { what: "an engine with its executor on threads", needs: [], isShared: true },
  system: { what: "processes: executors, the command line, servers", needs: [], isShared: true },
  python: { what: "tools in Python", needs: [], isShared: true },
  fleet: { what: "several servers and machines, and stores in Redis", needs: ["redis"], isShared: true },
  attack: { what: "hostile tools, requests and archives", needs: [], isShared: true },
  conformance: { what: "public suites of protocols, against our servers", needs: [], isShared: true },
  browser: { what: "the console in Chromium", needs: ["chromium"], isShared: true },
  packages: { what: "libraries as they are installed, from the registry", needs: [], isShared: false },
  slow: { what: "chaos, load, soak, benchmarks, npm packages", needs: [], isShared: false },
} as const satisfies Readonly<Record<string, KindOfTest>>;

interface KindOfTest {
  readonly what: string;
  readonly needs: readonly ComponentName[];
  readonly isShared: boolean;
}

export type Kind = keyof typeof KINDS;

export const KIND_NAMES = Object.keys(KINDS) as Kind[];

export interface TestFile {
  /** From the root of the repository. */
  readonly path: string;
  readonly kind: Kind;
  /** Components that it uses and that this machine lacks: it is skipped where there are any. */
  readonly missing: readonly ComponentName[];
  /** It is longer with `npm run test:slow`. */
  readonly isLonger: boolean;
}

/** All test files, with their kinds. */
export function testFiles(): TestFile[] {
  return filesBelow(TEST)
    .filter((name) => name.endsWith(".test.ts"))
    .map((name) => {
      const kind = kindOf(name);
      const text = readFileSync(join(TEST, name), "utf8");
      const named: readonly ComponentName[] = [...KINDS[kind].needs, ...componentsOf(text)];
      return {
        path: `test/${name}`,
        kind,
        missing: MISSING.filter((component) => named.includes(component)),
        // Attacks have both of their shapes there.
        isLonger: kind === "slow" || kind === "attack" || /^import .*\/length\.ts";$/m.test(text),
      };
    });
}

function kindOf(name: string): Kind {
  const word = /\.([a-z]+)\.test\.ts$/.exec(name)?.[1] ?? "unit";
  const kind = KIND_NAMES.find((each) => each === word);
  if (kind === undefined)
    throw new Error(`test/${name} has no known kind: "${word}" is not one of ${KIND_NAMES.join(", ")}`);
  return kind;
}
