import { stat } from "node:fs/promises";
import path from "node:path";
import { quoted } from "./step.ts";
import { GloveboxError } from "../../base/errors.ts";

export type ArchiveFormat = "zip" | "tar.gz";

/** The location of a package. `name`: that of the folder or archive, without its archive extension. */
export type PackageLocation =
  | { readonly kind: "folder"; readonly name: string; readonly path: string }
  | { readonly kind: "file"; readonly name: string; readonly format: ArchiveFormat; readonly path: string }
  | { readonly kind: "url"; readonly name: string; readonly format: ArchiveFormat; readonly url: URL };

const URL_MAX = 16_384;
const NAME_MAX = 128;
const ARCHIVE = /\.(?:zip|tar\.gz|tgz)$/i;
const FORMS = "a package is a folder, or an archive that ends in .zip, .tar.gz or .tgz, by its path or by an https URL";

/** Whether a text is a URL rather than a path. */
export function isUrl(given: string): boolean {
  return /^[a-z][a-z\d+.-]+:\/\//i.test(given);
}

/** Whether a file name has an archive extension. */
export function isArchiveName(name: string): boolean {
  return ARCHIVE.test(name);
}

/** The name of a package's folder or archive without its archive extension. */
export function packageStem(name: string): string {
  return name.replace(ARCHIVE, "");
}

/** Parses the location of a package. Rejects with a `GloveboxError` that lists the supported forms. */
export async function readLocation(given: string): Promise<PackageLocation> {
  if (isUrl(given)) return readUrl(given);
  const found = await stat(given).catch(() => undefined);
  const base = path.basename(path.resolve(given));
  if (found?.isDirectory() === true) return { kind: "folder", name: shortName(base), path: path.resolve(given) };
  if (found === undefined) throw fetchError(base, "it does not exist; check its path");
  if (!found.isFile() || !isArchiveName(base)) throw fetchError(base, `it is not an archive: ${FORMS}`);
  return { kind: "file", name: nameOf(base), format: formatOf(base), path: path.resolve(given) };
}

function readUrl(given: string): PackageLocation {
  const url = given.length > URL_MAX ? null : URL.parse(given);
  const base = url?.pathname.split("/").at(-1) ?? "";
  if (url === null || !isArchiveName(base))
    throw fetchError(base === "" ? "URL" : base, `it is not an archive: ${FORMS}`);
  return { kind: "url", name: nameOf(base), format: formatOf(base), url };
}

function formatOf(base: string): ArchiveFormat {
  return /\.zip$/i.test(base) ? "zip" : "tar.gz";
}

function nameOf(base: string): string {
  return shortName(packageStem(base));
}

/** Converts a file name to a valid tool name. */
function shortName(base: string): string {
  const name = base.replaceAll(/[^\w.-]/g, "_").slice(0, NAME_MAX);
  return name === "" ? "package" : name;
}

function fetchError(base: string, problem: string): GloveboxError {
  return new GloveboxError("load_error", `package ${quoted(base)}: fetch: ${problem}`, {
    package: base,
    step: "fetch",
  });
}
