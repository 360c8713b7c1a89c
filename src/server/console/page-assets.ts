import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";

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
  /** Whether the server keeps calls. */
  readonly hasCalls: boolean;
}

export interface Page {
  /** The document of a server, which lists the server's parts. */
  document(parts: ServerParts): Promise<Asset>;
  /** Files by name; names contain a hash of the content. */
  readonly files: ReadonlyMap<string, Asset>;
}

const FOLDER = fileURLToPath(new URL("page/", import.meta.url));
const HASH_LENGTH = 16;
const DOCUMENT = "index.html";
/** Types by the ends of names. */
const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".json": "application/json",
};

let loaded: Promise<Page> | null = null;

/** Loads the page on first use, once per process. */
export async function loadPage(): Promise<Page> {
  try {
    return await (loaded ??= makePage());
  } catch (error) {
    loaded = null;
    throw error;
  }
}

async function makePage(): Promise<Page> {
  const files = await readPage();
  const assets = [...files].filter(([name]) => name !== DOCUMENT);
  const made = assets.map(async ([name, contents]) => [name, await makeAsset(name, contents)] as const);
  const html = new TextDecoder().decode(files.get(DOCUMENT));
  const documents = new Map<string, Promise<Asset>>();
  return {
    document: ({ hasRegistry, hasCodeMode, hasCalls }) => {
      const marked = { "data-registry": hasRegistry, "data-code-mode": hasCodeMode, "data-calls": hasCalls };
      const marks = Object.entries(marked)
        .map(([name, isSet]) => (isSet ? ` ${name}` : ""))
        .join("");
      const known = documents.get(marks);
      if (known !== undefined) return known;
      const document = makeAsset(DOCUMENT, Buffer.from(html.replace("<body>", `<body${marks}>`)));
      documents.set(marks, document);
      return document;
    },
    files: new Map(await Promise.all(made)),
  };
}

/** The files of the page: the package has them built, a checkout has their sources, which are built here. */
async function readPage(): Promise<ReadonlyMap<string, Uint8Array>> {
  const names = await readdir(FOLDER);
  if (names.includes("main.tsx")) return (await import("./build-page.ts")).buildPage(FOLDER);
  const files = names.map(async (name) => [name, await readFile(path.join(FOLDER, name))] as const);
  return new Map(await Promise.all(files));
}

async function makeAsset(name: string, contents: Uint8Array): Promise<Asset> {
  const identity = Buffer.from(contents);
  const [br, zipped] = await Promise.all([
    promisify(brotliCompress)(identity, { params: { [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT } }),
    promisify(gzip)(identity),
  ]);
  const hash = createHash("sha256").update(identity).digest("hex").slice(0, HASH_LENGTH);
  const type = TYPES[path.extname(name)] ?? "application/octet-stream";
  return { type, hash, bodies: { br, gzip: zipped, identity } };
}
