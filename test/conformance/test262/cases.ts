import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join, sep } from "node:path";
import { parse } from "yaml";

/** A test of the suite, as its frontmatter describes it. */
export interface Case {
  /** Its path in the suite's folder `test`. */
  readonly name: string;
  readonly source: string;
  /** Files of the harness, in order. */
  readonly includes: readonly string[];
  readonly flags: readonly string[];
  readonly negative: Negative | null;
}

/** The error with which a test has to end. */
export interface Negative {
  readonly phase: string;
  readonly type: string;
}

/** How a test is run: most of them twice. */
export type Mode = "strict" | "sloppy";

/** A test in one mode. `source` follows `harness` in one script. */
export interface Program {
  readonly harness: string;
  readonly source: string;
  readonly isAsync: boolean;
  readonly negative: Negative | null;
}

interface Frontmatter {
  readonly includes?: readonly string[];
  readonly flags?: readonly string[];
  readonly negative?: Negative;
}

/** Folders of the suite that are run: the language, its library, and what browsers have always had. */
const AREAS = ["annexB", "built-ins", "language"];

/** Every `every`th test by a hash of its path: the same ones on every machine, spread over all folders. */
export function casesIn(folder: string, every: number): readonly Case[] {
  return AREAS.flatMap((area) => namesIn(folder, area))
    .filter((name) => hashOf(name) % every === 0)
    .sort()
    .map((name) => caseOf(folder, name));
}

function namesIn(folder: string, area: string): readonly string[] {
  return readdirSync(join(folder, "test", area), { recursive: true, encoding: "utf8" })
    .map((name) => `${area}/${name.split(sep).join("/")}`)
    .filter((name) => name.endsWith(".js") && !name.includes("_FIXTURE"));
}

function hashOf(name: string): number {
  return createHash("sha256").update(name).digest().readUInt32BE(0);
}

function caseOf(folder: string, name: string): Case {
  const source = readFileSync(join(folder, "test", name), "utf8");
  const text = /\/\*---\r?\n?([\s\S]*?)---\*\//.exec(source)?.[1] ?? "";
  const { includes = [], flags = [], negative = null } = (parse(text.replaceAll("\r", "\n")) ?? {}) as Frontmatter;
  return { name, source, includes, flags, negative };
}

const FROM_HOST: readonly (readonly [needed: RegExp, reason: string])[] = [
  [/\$262\.createRealm/, "it needs a second realm, which only a host can create"],
  [/\$262\.agent|CanBlockIs(?:True|False)/, "it needs agents, which are threads of a host"],
  [/\$262\.evalScript/, "it needs a host that runs further scripts in the realm"],
  [/\$262\.gc/, "it needs a host that collects garbage on demand"],
  [/\$262\.IsHTMLDDA|\$262\.AbstractModuleSource/, "it needs an object that only a browser has"],
];

/** Why a test is for hosts of another kind; `null` where it is not. */
export function inapplicable({ source, includes, flags }: Case): string | null {
  if (flags.includes("module")) return "it is a module: a tool's modules are bundled into one before they run";
  const used = [source, ...flags, ...includes.map((name) => (name === "atomicsHelper.js" ? "$262.agent" : ""))].join();
  return FROM_HOST.find(([needed]) => needed.test(used))?.[1] ?? null;
}

export function modesOf({ flags }: Case): readonly Mode[] {
  if (flags.includes("onlyStrict")) return ["strict"];
  if (flags.includes("noStrict") || flags.includes("raw")) return ["sloppy"];
  return ["sloppy", "strict"];
}

/** Makes programs of cases. */
export class Harness {
  readonly #folder: string;
  readonly #texts = new Map<string, string>();

  constructor(folder: string) {
    this.#folder = join(folder, "harness");
  }

  program({ source, includes, flags, negative }: Case, mode: Mode): Program {
    const isAsync = flags.includes("async");
    if (flags.includes("raw")) return { harness: "", source, isAsync, negative };
    const texts = ["assert.js", "sta.js", ...includes].map((name) => this.#text(name));
    // Helpers for asynchronous tests look for `$DONE` on the global.
    const done = isAsync ? [this.#text("doneprintHandle.js"), "globalThis.$DONE = $DONE;"] : [];
    const strict = mode === "strict" ? ['"use strict";'] : [];
    return { harness: [...strict, ...done, ...texts, ""].join("\n"), source, isAsync, negative };
  }

  #text(name: string): string {
    const known = this.#texts.get(name);
    if (known !== undefined) return known;
    const text = readFileSync(join(this.#folder, name), "utf8");
    this.#texts.set(name, text);
    return text;
  }
}
