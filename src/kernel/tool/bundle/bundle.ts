import path from "node:path";
import { GloveboxError, loadError } from "../../base/errors.ts";
import type { Runtime } from "../../base/protocol/script.ts";
import type { CapabilityRequest } from "../../broker/capabilities/capability.ts";
import type { Outcome } from "../build/build-process.ts";
import { builds } from "../build/builds.ts";
import { type BundleJob, type Job, stringsOf } from "../build/job.ts";
import { type JobWords, problemOf } from "../build/problem.ts";
import { withFiles } from "./error.ts";
import type { PackageScope } from "./files.ts";
import type { ProjectOptions } from "./project.ts";
import { MAX_SOURCE_BYTES } from "./source-budget.ts";
import type { NodeName } from "./used-names.ts";

/**
 * A tool's module: its text or its file. `name` is the tool's, for messages. A `scope` restricts it to the npm packages
 * listed there. With `project` it may read the files of the project around it: only if the operator names the file.
 */
export type BundleInput =
  | { readonly kind: "text"; readonly text: string; readonly name: string; readonly resolveDir?: string }
  | { readonly kind: "file"; readonly path: string; readonly name: string; readonly scope?: PackageScope }
  | { readonly kind: "file"; readonly path: string; readonly name: string; readonly project: ProjectOptions };

/** A module with all its imports, as one script. */
export interface Bundle {
  readonly runtime: Runtime;
  /**
   * In the form of `ToolScript.text` for its runtime; for JavaScript, statements that assign the module's exports to
   * `SCRIPT_EXPORTS`.
   */
  readonly text: string;
  readonly bytes: number;
  /** Source map as JSON, without names and the sources' contents; empty for runtimes without one, and if it is large. */
  readonly sourceMap: string;
  /** Content of a native binary, which runs outside of isolates; `text` is its hash. */
  readonly binary?: Uint8Array;
  /** As `ToolScript` has it. */
  readonly isInterpreted?: true;
  /** A program that starts afresh for each call and does not describe itself. */
  readonly isCommand?: true;
  /** Requests of every tool of its runtime, in addition to the tool's own. */
  readonly requests?: CapabilityRequest;
  /** The bundled modules as the source map names them: relative to the tool's folder. */
  readonly sources: readonly string[];
  /** Of the operator's files: paths of all that the bundle was made of, for a service that reloads when they change. */
  readonly files?: readonly string[];
  /** Names of Node's that the module uses. */
  readonly node?: readonly NodeName[];
  /** For a tool of `defineTool`: the bundle for its calls. */
  readonly halves?: Halves;
}

/** The bundle of a tool's `run` with its dependencies; or the reason why calls need the whole module. */
export type Halves =
  | { readonly kind: "call"; readonly call: Pick<Bundle, "text" | "bytes" | "sourceMap"> }
  | { readonly kind: "whole"; readonly reason: string };

const DEADLINE_MS = 30_000;

const WORDS: JobWords = { verb: "bundle", participle: "bundled", remedy: "import less" };

/**
 * Bundles a tool's module in a build process. This process evaluates and reads no part of the tool, and the build
 * process can read only the tool's own folder and packages. Throws a `GloveboxError` with `load_error` that names the
 * tool's line.
 */
export async function bundleModule(
  input: BundleInput,
  registrant: string | null = null,
  deadlineMs: number = DEADLINE_MS,
): Promise<Bundle> {
  const { name } = input;
  if (input.kind === "text" && isTooLarge(input.text)) {
    throw loadError(name, `is larger than ${MAX_SOURCE_BYTES} bytes of source; make it smaller`);
  }
  const outcome = await builds.run(jobOf(input), { registrant, deadlineMs });
  if (outcome.kind !== "done") throw failure(name, outcome, deadlineMs);
  const bundle = bundleOf(outcome.value, outcome.texts);
  if (bundle === undefined) throw failure(name, { kind: "unreadable", reason: "a bundle of another form" }, deadlineMs);
  return bundle;
}

/** Never called: tracers such as that of Next find acorn, which a build process needs, only by imports. @public */
export const loadHalves = () => import("./halves.ts");

/** Starts a build process in parallel to other work. */
export function startBundler(): void {
  builds.warm();
}

/** Ends the build processes, and esbuild here, which bundles the engine's own scripts. The next bundle starts them. */
export async function stopBundler(): Promise<void> {
  builds.stop();
  const { stop } = await import("esbuild");
  await stop();
}

/** A text has no fewer bytes than characters. */
function isTooLarge(text: string): boolean {
  return text.length > MAX_SOURCE_BYTES || Buffer.byteLength(text) > MAX_SOURCE_BYTES;
}

/** Paths are made absolute: a build process has a working directory of its own. */
function jobOf(input: BundleInput): Job {
  return { head: { kind: "bundle", input: dataOf(input) }, texts: input.kind === "text" ? [input.text] : [] };
}

function dataOf(input: BundleInput): BundleJob["input"] {
  const { name } = input;
  if (input.kind === "text") {
    const { resolveDir } = input;
    return resolveDir === undefined
      ? { kind: "text", name }
      : { kind: "text", name, resolveDir: path.resolve(resolveDir) };
  }
  const file = { kind: "file", name, path: path.resolve(input.path) } as const;
  if ("project" in input) return { ...file, project: input.project };
  if (input.scope === undefined) return file;
  const names = [...input.scope.names];
  const { modules } = input.scope;
  return { ...file, scope: modules === undefined ? { names } : { names, modules: path.resolve(modules) } };
}

/** A build process's answer as a bundle, checked by its shape only. */
function bundleOf(value: unknown, texts: readonly string[]): Bundle | undefined {
  const [text, sourceMap, callText, callMap] = texts;
  if (text === undefined || sourceMap === undefined || typeof value !== "object" || value === null) return undefined;
  const sources = stringsOf(Reflect.get(value, "sources"));
  if (sources === null) return undefined;
  const files = stringsOf(Reflect.get(value, "files"));
  const made = { runtime: "javascript", text, bytes: Buffer.byteLength(text), sourceMap, sources } as const;
  const node = namesOf(Reflect.get(value, "node"));
  const bundle = { ...made, ...(files !== null && { files }), ...(node.length > 0 && { node }) };
  if (callText !== undefined && callMap !== undefined) {
    const call = { text: callText, bytes: Buffer.byteLength(callText), sourceMap: callMap };
    return { ...bundle, halves: { kind: "call", call } };
  }
  const reason: unknown = Reflect.get(value, "whole");
  return typeof reason === "string" ? { ...bundle, halves: { kind: "whole", reason } } : bundle;
}

function namesOf(value: unknown): readonly NodeName[] {
  return (Array.isArray(value) ? value : []).flatMap((one): NodeName[] => {
    const { name, instead } = Object(one) as { readonly name?: unknown; readonly instead?: unknown };
    if (typeof name !== "string") return [];
    return [typeof instead === "string" ? { name, instead } : { name }];
  });
}

function failure(name: string, outcome: Exclude<Outcome, { kind: "done" }>, deadlineMs: number): GloveboxError {
  if (outcome.kind === "refused")
    return withFiles(new GloveboxError("load_error", outcome.message, outcome.details), outcome.files ?? []);
  return loadError(name, problemOf(outcome, WORDS, deadlineMs));
}
