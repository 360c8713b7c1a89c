import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Engine } from "../../../src/glovebox/index.ts";

/** A case of wasi-testsuite: a command, and what the suite says of it. */
export interface Case {
  /** Folder of its language and its own name, as `rust/fd_readdir`. */
  readonly name: string;
  readonly module: Uint8Array;
  readonly specification: Specification;
}

/** The legacy form of a specification, in which all cases of preview 1 are. */
interface Specification {
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** A folder that the host gives to the command as its root. */
  readonly root?: string;
  readonly exit_code?: number;
  readonly stdout?: string;
}

const SUITE = "wasm32-wasip1";
/** The largest of the suite's commands has 2.5 MB. */
const LIMITS = { cpuMs: 10_000, wallMs: 60_000 };

/** All cases for preview 1 in a checkout of the suite. */
export async function readCases(folder: string): Promise<readonly Case[]> {
  const cases: Case[] = [];
  for (const language of (await readdir(join(folder, "tests"))).toSorted()) {
    const place = join(folder, "tests", language, "testsuite", SUITE);
    // A language may have cases for other versions of WASI alone.
    if (!existsSync(place)) continue;
    const files = await readdir(place);
    for (const file of files.filter((name) => name.endsWith(".wasm")).toSorted()) {
      const name = file.slice(0, -".wasm".length);
      const module = await readFile(join(place, file));
      const text = files.includes(`${name}.json`) ? await readFile(join(place, `${name}.json`), "utf8") : "{}";
      cases.push({ name: `${language}/${name}`, module, specification: JSON.parse(text) as Specification });
    }
  }
  return cases;
}

/** Runs a case as a tool. Returns `null` if it passes, else what it did. */
export async function runCase(engine: Engine, { module, specification }: Case): Promise<string | null> {
  const source = Buffer.from(module).toString("base64");
  const tool = {
    name: "case",
    description: "A case of wasi-testsuite.",
    runtime: "wasi",
    source,
    limits: LIMITS,
  } as const;
  await engine.register(tool);
  const { output, error, metadata } = await engine.execute({ name: "case", arguments: {} });
  if (error === null) return `it answered ${JSON.stringify(output)}`;
  const exitCode = exitCodeOf(error.message);
  if (exitCode !== (specification.exit_code ?? 0)) return error.message;
  const stdout = metadata.logs.filter(({ level }) => level === "log").map(({ message }) => message);
  const expected = specification.stdout;
  if (expected !== undefined && stdout.join("\n") !== expected) return `it printed ${JSON.stringify(stdout)}`;
  return null;
}

/** No case writes an output file, so each call fails, with a message that tells its end. */
function exitCodeOf(message: string): number | null {
  if (message.startsWith("the binary wrote no output file")) return 0;
  const code = /^the binary ended with exit code (\d+)/.exec(message)?.[1];
  return code === undefined ? null : Number(code);
}
