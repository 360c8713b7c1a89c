import type { RuntimeFolder } from "../../base/protocol/prelude.ts";
import type { Bundle } from "../bundle/bundle.ts";
import type { ProjectOptions } from "../bundle/project.ts";
import type { ProjectForm, ProjectForms } from "../package/layout.ts";
import type { ResolvedPackageOptions } from "../package/options.ts";

/** A runtime other than JavaScript, in which tools may be written. A plugin adds it. */
export interface ToolRuntime {
  /** As definitions name it: lower-case letters, digits and hyphens, at most 64. */
  readonly name: string;
  /**
   * File of a module that exports `createEngine`, which makes a `RuntimeEngine`. It is bundled, and runs in each realm
   * of the runtime before any other code. Missing if the module of `worker` has its own engine.
   */
  readonly engine?: URL;
  /** The reader of its code. Missing if it has no files and no definitions: its tools come from a source of tools. */
  readonly reader?: RuntimeReader;
  /** @internal File of a module that exports `runtime`, a `WorkerRuntime`, and that workers import. */
  readonly worker?: URL;
  /** @internal Whether it starts an interpreter, with its own memory and isolate. */
  readonly isInterpreted?: true;
  /** @internal Files that workers read; `null` if the runtime is not available on this machine. */
  readonly files?: () => RuntimeFolder | null;
}

/** Reads the code of a runtime's tools. No code of a tool runs. */
export interface RuntimeReader {
  /** Extensions of files that are tools, such as `.py`. */
  readonly extensions: readonly string[];
  /** A file that may make the folder around it one tool, as `index.ts` does, and the text that marks it. */
  readonly index?: { readonly file: string; readonly marks: RegExp };
  /** A file that makes the folder around it a package of one tool. */
  readonly project?: ProjectForm;
  /** Names of files in folders of tools that are not tools, such as tests. */
  readonly beside?: RegExp;
  /** Rejects with a `GloveboxError`, `load_error`, that names the tool. */
  bundle(code: RuntimeSource, context: BundleContext): Promise<Bundle>;
}

/** Code of a tool: the text of a definition, a file of the operator's, or the entry of an unpacked package. */
export type RuntimeSource = { readonly name: string } & (
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "file"; readonly path: string }
  | { readonly kind: "package"; readonly folder: string; readonly entry: string }
);

/** Runtimes of an engine's plugins, by their names. */
export type ToolRuntimes = ReadonlyMap<string, ToolRuntime>;

/** Readers by the names of their runtimes. */
export function readersOf(runtimes: ToolRuntimes): ReadonlyMap<string, RuntimeReader> {
  return new Map([...runtimes].flatMap(([name, { reader }]) => (reader === undefined ? [] : [[name, reader]])));
}

export function projectsOf(runtimes: ToolRuntimes): ProjectForms {
  return new Map(
    [...readersOf(runtimes)].flatMap(([name, { project }]) => (project === undefined ? [] : [[name, project]])),
  );
}

/** The owner of the bundled code, and the settings for it. */
export interface BundleContext {
  /** See `BuildOptions.registrant`. */
  readonly lane: string | null;
  readonly packages: ResolvedPackageOptions;
  /** Runtimes other than JavaScript. */
  readonly runtimes: ToolRuntimes;
  /** For the operator's files: the settings that determine their project. */
  readonly project?: ProjectOptions;
}
