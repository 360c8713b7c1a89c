import { hash } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { ERRORS } from "../../kernel/base/errors.ts";
import { notePackages } from "../../kernel/tool/runtimes/bundled-packages.ts";

/** Entries of the page, and their names in the document. */
const ENTRIES = ["main.tsx", "style.css", "icon.svg"] as const;

/** Bundles the page's sources. Returns its files by name; those that the document names have a hash in their names. */
export async function buildPage(folder: string): Promise<ReadonlyMap<string, Uint8Array>> {
  const { build } = await import("esbuild");
  const advice = adviceText();
  const adviceName = `advice-${hash("sha256", advice).slice(0, 8)}.json`;
  const { outputFiles, metafile } = await build({
    entryPoints: ENTRIES.map((file) => path.join(folder, file)),
    outdir: folder,
    absWorkingDir: folder,
    entryNames: "[name]-[hash]",
    chunkNames: "[name]-[hash]",
    loader: { ".svg": "copy" },
    write: false,
    metafile: true,
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "browser",
    target: "es2023",
    // Shorter than the calls of the automatic runtime, which also is a module of its own.
    jsx: "transform",
    jsxFactory: "h",
    jsxFragment: "Fragment",
    inject: ["preact"],
    define: { ADVICE: JSON.stringify(`/console/${adviceName}`) },
    minify: true,
    legalComments: "none",
    logLevel: "silent",
    tsconfigRaw: "{}",
  });
  notePackages(metafile, folder);
  let document = await readFile(path.join(folder, "index.html"), "utf8");
  for (const [file, { entryPoint = "" }] of Object.entries(metafile.outputs)) {
    const source = entryPoint.replace(/\.tsx$/, ".js");
    document = document.replace(`"${source}"`, `"/console/${path.basename(file)}"`);
  }
  const files = outputFiles.map((file) => [path.basename(file.path), file.contents] as const);
  const texts = Object.entries({ [adviceName]: advice, "index.html": document });
  return new Map([...files, ...texts.map(([name, text]) => [name, new TextEncoder().encode(text)] as const)]);
}

/** Writes the page of the package. */
export async function writePage(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true });
  for (const [name, contents] of await buildPage(path.resolve(from))) await writeFile(path.join(to, name), contents);
}

/** Remedies by error code, as JSON: the page loads them with the first error that it shows. */
function adviceText(): string {
  return JSON.stringify(Object.fromEntries(Object.entries(ERRORS).map(([code, entry]) => [code, entry.advice])));
}
