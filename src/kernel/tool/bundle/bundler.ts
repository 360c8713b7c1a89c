import { readFile, realpath, stat } from "node:fs/promises";
import { createRequire } from "node:module";
import path from "node:path";
import type { BuildOptions, BuildResult, Message, OutputFile } from "esbuild";
import { GloveboxError, loadError } from "../../base/errors.ts";
import type { Bundle, BundleInput, Halves } from "./bundle.ts";
import { LOWERED, usesContexts, withWholeFinally } from "./contexts.ts";
import { AWAIT, bundleError, isAwait, isFurther, isSyntaxError, withFiles } from "./error.ts";
import { globalDefinitions } from "./globals.ts";
import { leaveExports } from "./exports.ts";
import { messagesOf, ToolFiles } from "./files.ts";
import { loaderOf, shownName } from "./module-name.ts";
import { callHalf } from "./halves.ts";
import { checkImports, isAlone, TARGET, withoutFileMaps } from "./imports.ts";
import { nodeDefinitions } from "./node-names.ts";
import { Project, type ProjectOptions } from "./project.ts";
import { isLibraryFile } from "./purity.ts";
import { RefusalError } from "./refusal.ts";
import { MAX_PROJECT_SOURCE_BYTES, MAX_SOURCE_BYTES } from "./source-budget.ts";
import { cleanMap, mapOf, MAX_BUNDLE_BYTES, scriptOf, tooLarge } from "./output.ts";
import { asScript, type Half } from "./tool-entry.ts";
import { checkRequires } from "./top-level-await.ts";
import { PLAIN } from "./ts-config.ts";
import { nodeNamesIn } from "./used-names.ts";

/** Marks of TypeScript. Checked only in texts too short to crash the bundler. */
const TYPES = /:\s*(?:string|number|boolean|unknown|void|any)\b|\b(?:interface|enum|type|satisfies)\s+\w/;
const MAX_GUESSED = 64 * 1024;
/** Marks of a class or a decorator, whose meaning depends on a tsconfig.json. */
const CLASSES = /\bclass\b|@/;

const OPTIONS = {
  bundle: true,
  write: false,
  // esbuild honours a package's `browser` field, which removes Node's modules, on this platform only.
  platform: "browser",
  format: "esm",
  // A script has neither; esbuild then replaces `import.meta` by an empty object, and reports top-level awaits, with
  // which the module is bundled once more.
  supported: { [AWAIT]: false, "import-meta": false },
  mainFields: ["browser", "module", "main"],
  // esbuild adds `module` only without conditions: packages use it for the form that suits bundlers best. It adds
  // `import` or `require` by itself, by the kind of import.
  conditions: ["browser", "worker", "module"],
  target: TARGET,
  define: {
    ...nodeDefinitions(),
    global: "globalThis",
    // Packages briefly change these, for speed or for a look at their callers; `Error` is frozen, so their assignment
    // goes to their own global.
    "Error.stackTraceLimit": "globalThis.stackTraceLimit",
    "Error.prepareStackTrace": "globalThis.prepareStackTrace",
  },
  charset: "utf8",
  legalComments: "none",
  sourcemap: "external",
  sourcesContent: false,
  outfile: "tool.js",
  // Without this, the tsconfig.json of the host's working directory would apply.
  tsconfigRaw: "{}",
  logLevel: "silent",
} as const satisfies BuildOptions;

/**
 * Options for a module without imports: the plugin and the definitions, which it does not need, would take esbuild half
 * as long again. No import may be followed, so that a wrong guess can never make esbuild read a file.
 */
const ALONE = { ...OPTIONS, platform: "neutral", external: ["*"] } as const satisfies BuildOptions;

/**
 * Bundles a tool's module with esbuild, in a build process. The tool is not evaluated, and only its own folder and
 * packages can be read. Throws a `GloveboxError` with `load_error` that names the tool's line, and a `CrashError`.
 */
export async function bundleHere(input: BundleInput): Promise<Bundle> {
  if (input.kind === "file") return bundleFile(input);
  if (input.text.trim() === "") throw emptySource(input.name);
  const root = input.resolveDir === undefined ? undefined : await realpath(input.resolveDir);
  const contents = withoutFileMaps(input.text);
  const asText = (loader: "js" | "ts"): Promise<Bundle> => {
    const sourcefile = `${input.name.replaceAll(/[^\w.-]/g, "_").slice(0, 128)}.${loader}`;
    const stdin = { contents, sourcefile, loader };
    return bundleWith(new ToolFiles(root), sourcefile, stdin, input.name);
  };
  // `a < b > (c)` means different things in JavaScript and TypeScript, so TypeScript is tried only if JavaScript fails.
  // If types are likely, both builds start at once; both are awaited, so that no build outlives the call.
  const asScript = asText("js");
  const asTyped = looksTyped(contents) ? asText("ts") : undefined;
  await Promise.allSettled([asScript, asTyped]);
  try {
    return await asScript;
  } catch (error) {
    if (!(error instanceof BuildFailedError) || !error.messages.some(isSyntaxError)) throw publicError(error);
    try {
      return await (asTyped ?? asText("ts"));
    } catch (second) {
      if (second instanceof CrashError) throw second;
      const isBetter = second instanceof BuildFailedError && isFurther(second.messages[0], error.messages[0]);
      throw publicError(isBetter ? second : error);
    }
  }
}

function looksTyped(contents: string): boolean {
  return contents.length <= MAX_GUESSED && isAlone(contents) && TYPES.test(contents);
}

const require = createRequire(import.meta.url);

/** Loaded synchronously on first use, so that a build starts without a delay. */
function esbuild(): typeof import("esbuild") {
  return require("esbuild") as typeof import("esbuild");
}

type FileInput = Extract<BundleInput, { kind: "file" }>;

async function bundleFile(input: FileInput): Promise<Bundle> {
  const { path: file, name } = input;
  const paths = [path.dirname(file), file].map((one) => realpath(one).catch(() => undefined));
  const [root, real] = await Promise.all(paths);
  if (root === undefined || real === undefined)
    throw loadError(name, `has no file ${path.basename(file)}; check its path`);
  const found = await stat(real);
  const max = "project" in input ? MAX_PROJECT_SOURCE_BYTES : MAX_SOURCE_BYTES;
  let files = new ToolFiles(root, "scope" in input ? input.scope : undefined);
  let alone = found.isFile() && found.size <= max ? await readAlone(real, files.nameOf(real)) : undefined;
  // A module without imports needs the project around it only for the meaning of its classes.
  if ("project" in input && (alone === undefined || (alone.loader === "ts" && CLASSES.test(alone.contents)))) {
    const around = await projectAround(root, real, input.project, name);
    if (around.options !== PLAIN) alone = undefined;
    if (alone === undefined) files = new ToolFiles(root, undefined, around.project, around.options);
  }
  const entry = files.nameOf(real);
  if (entry === undefined) {
    throw loadError(
      name,
      `has a file ${path.basename(file)} that is a link to a file outside its folder; register the target by its own path`,
    );
  }
  if (!found.isFile()) throw loadError(name, `has an entry ${entry} that is not a file`);
  if (found.size > max) throw loadError(name, `is larger than ${max} bytes of source; make it smaller`);
  if (found.size === 0) throw emptySource(name);
  try {
    const bundle = await bundleWith(files, entry, alone, name);
    return "project" in input ? { ...bundle, files: files.hostFiles() } : bundle;
  } catch (error) {
    if (error instanceof CrashError) throw new CrashError(files.largest());
    throw "project" in input ? withFiles(publicError(error), files.hostFiles()) : publicError(error);
  }
}

/** The project around a tool's module, and the compiler's options for it. */
async function projectAround(
  folder: string,
  file: string,
  given: ProjectOptions,
  name: string,
): Promise<{ readonly project: Project | undefined; readonly options: string }> {
  let project: Project | undefined;
  try {
    project = await Project.around(folder, given);
  } catch {
    throw loadError(name, "cannot be bundled: the option root names a folder that cannot be read; correct it");
  }
  try {
    return { project, options: (await project?.optionsFor(file)) ?? PLAIN };
  } catch (error) {
    if (!(error instanceof RefusalError)) throw error;
    throw withFiles(loadError(name, error.message), [file, ...(project?.configFiles ?? [])]);
  }
}

/** A module's text under its displayed name. */
interface Stdin {
  readonly contents: string;
  readonly sourcefile: string;
  readonly loader: "js" | "ts";
}

/** The text of a file without imports, passed directly so that the bundler need not load it. */
async function readAlone(file: string, sourcefile: string | undefined): Promise<Stdin | undefined> {
  const loader = sourcefile === undefined ? undefined : loaderOf(sourcefile);
  if (sourcefile === undefined || loader === undefined) return undefined;
  if (loader !== "js" && loader !== "ts") return undefined;
  const contents = await readFile(file, "utf8").then(withoutFileMaps, () => undefined);
  return contents !== undefined && isAlone(contents) ? { contents, sourcefile, loader } : undefined;
}

/** `stdin` is the text of `entry`, if already read. */
async function bundleWith(files: ToolFiles, entry: string, stdin: Stdin | undefined, name: string): Promise<Bundle> {
  const whole = await bundleHalf(files, entry, stdin, name, "whole");
  const { inputs: _inputs, ...bundle } = whole;
  if (!files.definesTool) return bundle;
  return { ...bundle, halves: await halvesOf(files, entry, stdin, name) };
}

/** Largest bundle for calls: a larger one saves nothing. */
const MAX_CALL_BYTES = MAX_BUNDLE_BYTES / 2;

/** The half of a tool for calls. A failure here does not make the tool unusable: the whole module can be called. */
async function halvesOf(files: ToolFiles, entry: string, stdin: Stdin | undefined, name: string): Promise<Halves> {
  const whole = (reason: string): Halves => ({ kind: "whole", reason });
  let given = stdin;
  if (stdin !== undefined) {
    const made = callHalf(await asScript(stdin.contents, stdin.loader, stdin.sourcefile));
    if (made.kind === "whole") return whole(made.reason);
    given = { ...stdin, contents: made.text, loader: "js" };
  }
  let half: BundledHalf;
  try {
    half = await bundleHalf(files, entry, given, name, "call");
  } catch (error) {
    if (error instanceof CrashError) throw error;
    return whole("its half for calls cannot be bundled");
  }
  if (files.wholeBecause !== undefined) return whole(files.wholeBecause);
  if (half.inputs.some((input) => isLibraryFile(shownName(input)))) return whole("its run needs the schema library");
  if (half.bytes > MAX_CALL_BYTES) return whole(`its half for calls has more than ${MAX_CALL_BYTES} bytes`);
  return { kind: "call", call: half };
}

interface BundledHalf extends Bundle {
  /** Names of the modules that are in it. */
  readonly inputs: readonly string[];
}

async function bundleHalf(
  files: ToolFiles,
  entry: string,
  stdin: Stdin | undefined,
  name: string,
  half: Half,
): Promise<BundledHalf> {
  let inputs: readonly string[] = [];
  const supported: Supported = { ...OPTIONS.supported };
  const buildWith = async (define: Definitions): Promise<readonly OutputFile[]> => {
    const result = await withNodeForms(files, () =>
      withMessages(name, buildOnce(files, entry, stdin, name, { half, define, supported })),
    );
    const outputs = Object.values(result.metafile?.outputs ?? {});
    inputs = outputs.flatMap((one) =>
      Object.entries(one.inputs).flatMap(([input, { bytesInOutput }]) => (bytesInOutput > 0 ? [input] : [])),
    );
    return result.outputFiles ?? [];
  };
  let output = await buildWith({}).catch((error: unknown) => {
    if (!(error instanceof BuildFailedError) || !error.messages.every(isAwait)) throw error;
    supported[AWAIT] = true;
    return buildWith({});
  });
  const first = scriptOf(output, files, name);
  const globals = globalDefinitions(first);
  const isLowered = usesContexts(first);
  if (isLowered) Object.assign(supported, LOWERED);
  if (isLowered || Object.keys(globals).length > 0) output = await buildWith(globals);
  const last = scriptOf(output, files, name);
  const script = isLowered ? withWholeFinally(last) : last;
  const awaits = supported[AWAIT] === true;
  if (awaits) checkRequires(name, script);
  const text = leaveExports(script, awaits);
  const bytes = Buffer.byteLength(text);
  if (bytes > MAX_BUNDLE_BYTES) throw tooLarge(name, bytes, files);
  const shown = new Set([...files.shownNames(), entry]);
  const node = half === "whole" ? nodeNamesIn(script) : [];
  return {
    runtime: "javascript",
    text,
    bytes,
    inputs,
    ...(node.length > 0 && { node }),
    ...cleanMap(mapOf(output), shown),
  };
}

type Definitions = Readonly<Record<string, string>>;

type Supported = Record<string, boolean>;

interface BuildForm {
  readonly half: Half;
  readonly define: Definitions;
  readonly supported: Supported;
}

/** No `await` before `build` for a module without imports: the build is running when this returns. */
async function buildOnce(
  files: ToolFiles,
  entry: string,
  stdin: Stdin | undefined,
  name: string,
  { half, define: definitions, supported }: BuildForm,
): Promise<BuildResult> {
  const { build } = esbuild();
  const absWorkingDir = path.parse(process.cwd()).root;
  const define = { ...OPTIONS.define, ...definitions };
  if (stdin === undefined) {
    const metafile = half === "call";
    return build({
      ...OPTIONS,
      supported,
      tsconfigRaw: files.options,
      metafile,
      define,
      absWorkingDir,
      entryPoints: [entry],
      plugins: [files.plugin(entry, half)],
    });
  }
  if (isAlone(stdin.contents)) return build({ ...ALONE, supported, define: definitions, absWorkingDir, stdin });
  const given = await files.placed(stdin);
  const found = await checkImports(stdin.contents, stdin.loader, entry, true);
  if (found.length > 0) throw new BuildFailedError(name, found);
  const metafile = half === "call";
  const plugins = [files.plugin(undefined, half)];
  return build({ ...OPTIONS, supported, metafile, define, absWorkingDir, stdin: given, plugins });
}

/** esbuild's list of errors, converted to the public error only if it is the one to report. */
class BuildFailedError extends Error {
  override readonly name = "BuildFailedError";
  readonly tool: string;
  readonly messages: readonly Message[];

  constructor(tool: string, messages: readonly Message[]) {
    super("the build failed");
    this.tool = tool;
    this.messages = messages;
  }
}

function publicError(error: unknown): unknown {
  return error instanceof BuildFailedError ? bundleError(error.tool, error.messages) : error;
}

/** esbuild's process has ended, and every build in it. The message: the largest part, for a tool with files. */
export class CrashError extends Error {
  override readonly name = "CrashError";
}

/** esbuild reports a module's problems as messages; it rejects without any only if its process has ended. */
async function withMessages(name: string, work: Promise<BuildResult>): Promise<BuildResult> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof BuildFailedError) throw error;
    const messages = messagesOf(error);
    throw messages.length > 0 ? new BuildFailedError(name, messages) : new CrashError("", { cause: error });
  }
}

const MAX_NODE_FORMS = 5;

/**
 * Builds again with packages in their form for Node, if their form for browsers lacks an imported name, or only some of
 * a package's modules were in it.
 */
async function withNodeForms(files: ToolFiles, build: () => Promise<BuildResult>): Promise<BuildResult> {
  let last: unknown;
  for (let turn = 0; turn < MAX_NODE_FORMS; turn++) {
    try {
      const result = await build();
      if (!files.nodeForms.takeMixed() || turn === MAX_NODE_FORMS - 1) return result;
    } catch (error) {
      last = error;
      if (!(error instanceof BuildFailedError)) throw error;
      if (files.nodeForms.takeLacking(error.messages)) continue;
      throw new BuildFailedError(error.tool, files.nodeForms.explained(error.messages));
    }
  }
  throw last;
}

function emptySource(name: string): GloveboxError {
  return loadError(name, "is empty; its module must export default a function (input, context) => output");
}
