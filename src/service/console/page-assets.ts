import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import { ERRORS } from "../../base/errors.ts";

export type Encoding = "br" | "gzip" | "identity";

/** A file of the page, in each content encoding. */
export interface Asset {
  readonly type: string;
  readonly hash: string;
  readonly bodies: Readonly<Record<Encoding, Buffer>>;
}

/** Parts of a server that not every one has. */
export interface ServerParts {
  readonly hasRegistry: boolean;
  readonly hasCodeMode: boolean;
}

export interface Page {
  /** The document of a server, which says what parts the server has. */
  document(parts: ServerParts): Asset;
  /** Files by name; names contain a hash of the content. */
  readonly files: ReadonlyMap<string, Asset>;
}

const FOLDER = new URL("page/", import.meta.url);
const HASH_LENGTH = 16;
const REGISTRY = " data-registry";
const CODE_MODE = " data-code-mode";
const HTML = "text/html; charset=utf-8";

let loaded: Promise<Page> | null = null;

/** Builds the page on first use, once per process: the package contains TypeScript, which esbuild bundles. */
export async function loadPage(): Promise<Page> {
  try {
    return await (loaded ??= makePage());
  } catch (error) {
    loaded = null;
    throw error;
  }
}

async function makePage(): Promise<Page> {
  const [script, style, icon, html] = await Promise.all([
    bundle("main.ts"),
    bundle("style.css"),
    readFile(new URL("icon.svg", FOLDER)),
    readFile(new URL("index.html", FOLDER), "utf8"),
  ]);
  const made = await Promise.all([
    named("main", "js", "text/javascript; charset=utf-8", script),
    named("style", "css", "text/css; charset=utf-8", style),
    named("icon", "svg", "image/svg+xml", icon),
  ]);
  const document = made.reduce((text, { source, name }) => text.replace(`"${source}"`, `"/console/${name}"`), html);
  const marked = (marks: string) => makeAsset(HTML, Buffer.from(document.replace("<body>", `<body${marks}>`)));
  const [plain, registry] = [await marked(""), await marked(REGISTRY)];
  const [code, both] = [await marked(CODE_MODE), await marked(REGISTRY + CODE_MODE)];
  return {
    document: ({ hasRegistry, hasCodeMode }) =>
      hasRegistry ? (hasCodeMode ? both : registry) : hasCodeMode ? code : plain,
    files: new Map(made.map(({ name, asset }) => [name, asset])),
  };
}

async function bundle(file: string): Promise<Uint8Array> {
  const { build } = await import("esbuild");
  const result = await build({
    entryPoints: [fileURLToPath(new URL(file, FOLDER))],
    write: false,
    bundle: true,
    format: "iife",
    platform: "browser",
    target: "es2023",
    define: { ADVICE: JSON.stringify(advice()) },
    minify: true,
    legalComments: "none",
    logLevel: "silent",
    tsconfigRaw: "{}",
  });
  const [output] = result.outputFiles;
  if (output === undefined) throw new TypeError(`the bundler made nothing of ${file}`);
  return output.contents;
}

/** Remedies by error code. */
function advice(): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(ERRORS).map(([code, entry]) => [code, entry.advice]));
}

async function named(name: string, extension: string, type: string, contents: Uint8Array) {
  const asset = await makeAsset(type, Buffer.from(contents));
  return { source: `${name}.${extension}`, name: `${name}-${asset.hash}.${extension}`, asset };
}

async function makeAsset(type: string, identity: Buffer): Promise<Asset> {
  const [br, zipped] = await Promise.all([
    promisify(brotliCompress)(identity, { params: { [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT } }),
    promisify(gzip)(identity),
  ]);
  const hash = createHash("sha256").update(identity).digest("hex").slice(0, HASH_LENGTH);
  return { type, hash, bodies: { br, gzip: zipped, identity } };
}
