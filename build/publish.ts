/**
 * The second half of `npm run build`: writes what is published. Programs load a few chunks in place of hundreds of
 * modules, which is a third of what an engine's start takes; all else is as it was compiled.
 */
import { existsSync } from "node:fs";
import { cp, glob, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { build, type OutputFile, type Plugin } from "esbuild";
import manifest from "../package.json" with { type: "json" };

const COMPILED = fileURLToPath(new URL("../compiled/", import.meta.url));
/** What `bin` loads. */
const CHECK = "kernel/base/check-node.js";
const COMMAND = [CHECK, "cli/main.js"];
/** Programs of other processes and threads, which are found by their paths, and what the command loads before its own. */
const PROGRAMS = [
  "kernel/broker/thread/entry.js",
  "contrib/agentspace/search/entry.js",
  "kernel/engine/policy/entry.js",
  "kernel/engine/replay/debug/entry.js",
  "kernel/executor/process/child.js",
  "kernel/executor/worker/entry.js",
  "python/worker/snapshot-program.js",
  "cli/compile-cache.js",
  "kernel/store/calls/thread/entry.js",
  "kernel/tool/build/child.js",
  "connectors/tool/mcp/entry.js",
];
/** Modules that programs import by their URLs. They share the chunks of their program, and its classes of errors. */
const IMPORTED: Readonly<Record<string, readonly string[]>> = {
  "kernel/broker/thread/entry.js": [
    "connectors/capability/connector.js",
    "fleet/kv/redis-store.js",
    "wasi/native/native.js",
  ],
  "kernel/executor/worker/entry.js": ["python/worker/python.js", "wasi/worker.js"],
  "kernel/store/calls/thread/entry.js": ["fleet/kept-calls/redis-kept-calls.js"],
  "kernel/tool/build/child.js": ["connectors/tool/prepare-remote.js", "python/runtime/package.js"],
};
/** Modules that are read as files, too, and made into a script when Python is first used: with all that they import. */
const SCRIPTS = ["python/guest/engine.js", "python/guest/facade.js"];
/** What programs read as files: texts for isolates and browsers. And the licences of what others wrote in them. */
const READ = [
  "THIRD_PARTY_LICENSES",
  "kernel/base/schema/describe-schema.js",
  "contrib/amplifier/tools",
  "python/guest/lib",
  "python/guest/zones.bin",
  "kernel/guest/parts.json",
  "kernel/guest/scripts.json",
  "server/console/page",
];
/** What Node 24 can run; older versions can parse it, and say which version is needed. */
const TARGET = "es2023";
/** Stands in chunks for the path of what is published, until it is known which chunk a module is in. */
const PLACE = "glovebox-published:";

async function publish(folder: string): Promise<void> {
  await empty(folder);
  // What one process loads shares its chunks. A program of another process would only cut them smaller.
  await bundleAll([[...exported(), ...COMMAND], ...programs(), SCRIPTS], folder);
  for (const each of READ) await cp(path.join(COMPILED, each), path.join(folder, each), { recursive: true });
  await cp(COMPILED, folder, { recursive: true, filter: (from) => !path.extname(from) || from.endsWith(".d.ts") });
  await checkImports(folder);
}

/** Removes an earlier build. Throws for a folder that is a project, such as this repository: it would be gone. */
async function empty(folder: string): Promise<void> {
  const own = [".git", "package.json"].find((name) => existsSync(path.join(folder, name)));
  if (own !== undefined) throw new Error(`${folder} has ${own}: name a folder that only a build writes into`);
  await rm(folder, { recursive: true, force: true });
}

/** A module that is copied as a file may import what is only in chunks: whoever has installed the package would miss it. */
async function checkImports(folder: string): Promise<void> {
  for await (const file of glob("**/*.js", { cwd: folder })) {
    const text = await readFile(path.join(folder, file), "utf8");
    for (const [, name = ""] of text.matchAll(/^(?:import|export|\}) ?(?:[^"\n]* from )?"(\.[^"]*)";/gm)) {
      if (!existsSync(path.join(folder, path.dirname(file), name)))
        throw new Error(`${file} imports ${name}, which is not published`);
    }
  }
}

/**
 * What tests load: they import any module, so those are as they were compiled, and programs are as they are published.
 * A module that programs import has both forms: its compiled one shares its classes with what tests import.
 */
async function publishPrograms(folder: string): Promise<void> {
  await empty(folder);
  await cp(COMPILED, folder, { recursive: true, filter: (from) => !from.endsWith(".d.ts") });
  const imported = Object.values(IMPORTED).flat();
  for (const file of imported) {
    const own = path.join(folder, file.replace(/\.js$/, ".module.js"));
    const text = await readFile(path.join(COMPILED, file), "utf8");
    await writeFile(own, text.replace(/(?<=^\/\/# sourceMappingURL=).*$/m, `${path.basename(own)}.map`));
    await cp(path.join(COMPILED, `${file}.map`), `${own}.map`);
  }
  await bundleAll(programs(), folder);
  await writeFile(path.join(folder, "imported.json"), JSON.stringify(imported));
}

function programs(): readonly (readonly string[])[] {
  return PROGRAMS.map((program) => [program, ...(IMPORTED[program] ?? [])]);
}

async function bundleAll(groups: readonly (readonly string[])[], folder: string): Promise<void> {
  for (const file of (await Promise.all(groups.map((group) => bundle(group, folder)))).flat())
    await write(file, folder);
}

async function bundle(entries: readonly string[], folder: string): Promise<readonly OutputFile[]> {
  const { outputFiles } = await build({
    entryPoints: entries.map((file) => path.join(COMPILED, file)),
    outbase: COMPILED,
    outdir: folder,
    chunkNames: "chunks/[name]-[hash]",
    write: false,
    bundle: true,
    splitting: true,
    packages: "external",
    platform: "node",
    format: "esm",
    target: TARGET,
    sourcemap: "linked",
    sourcesContent: false,
    legalComments: "none",
    tsconfigRaw: "{}",
    plugins: [placed],
  });
  return outputFiles;
}

/** The modules that `package.json` exports. */
function exported(): readonly string[] {
  return Object.values(manifest.exports).flatMap((entry) =>
    typeof entry === "string" ? [] : [path.relative("dist", entry.default)],
  );
}

async function write(file: OutputFile, folder: string): Promise<void> {
  await mkdir(path.dirname(file.path), { recursive: true });
  const up = path.relative(path.dirname(file.path), folder);
  const root = up === "" ? "./" : `${up}/`;
  // An entry imports its chunks in any order, and the check of Node's version comes before all of them.
  const checks = (await importsCheck(path.relative(folder, file.path))) ? `import "${root}${CHECK}";` : "";
  const isCode = file.path.endsWith(".js");
  await writeFile(file.path, isCode ? checks + file.text.replaceAll(PLACE, root) : file.contents);
}

/** Whether a module begins with the check of Node's version. */
async function importsCheck(file: string): Promise<boolean> {
  if (!exported().includes(file)) return false;
  const [first = ""] = (await readFile(path.join(COMPILED, file), "utf8")).split("\n");
  return first.startsWith("import ") && first.endsWith('check-node.js";');
}

/**
 * Modules name other files by paths from their own, and a chunk stands elsewhere. Here these paths become paths from the
 * root of what is published, and when chunks are written, paths from the chunk.
 */
const placed: Plugin = {
  name: "placed",
  setup: (bundler) => {
    bundler.onLoad({ filter: /\.js$/ }, async ({ path: file }) => {
      const text = await readFile(file, "utf8");
      const from = path.dirname(path.relative(COMPILED, file));
      const contents = text.replaceAll(
        /new URL\(("|`)(.*?)\1, import\.meta\.url\)/g,
        (_all, quote: string, to: string) => {
          const place = path.join(from, to);
          checkProgram(place.replace(/\$\{[^}]*\}$/, "js"), file);
          return `new URL(${quote}${PLACE}${place}${quote}, import.meta.url)`;
        },
      );
      if (/new URL\([^"`][^()]*, import\.meta\.url\)/.test(contents))
        throw new Error(`${file} names a file by a path that is not in its text`);
      return { contents, loader: "js" };
    });
  },
};

/** A program that is not published would be missed where it is first started: by whoever has installed the package. */
function checkProgram(place: string, by: string): void {
  if (/(?:^|[/-])(?:entry|child|program)\.js$/.test(place) && !PROGRAMS.includes(place))
    throw new Error(`${by} starts ${place}, which is not among the published programs`);
}

const [, , folder = "dist", form] = process.argv;
await (form === "--programs" ? publishPrograms : publish)(path.resolve(folder));
