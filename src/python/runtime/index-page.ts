import { isObject, memberOf } from "../../kernel/base/json.ts";
import { PackageError, quoted } from "../../kernel/tool/package/step.ts";
import { PYTHON_VERSION } from "./environment.ts";
import { admits, isSpecifiers } from "./versions.ts";
import { readWheelName, type WheelName } from "./wheel-name.ts";

/** A wheel of a project, from its page in a package index. */
export interface IndexedWheel {
  readonly name: WheelName;
  readonly url: URL;
  /** In hexadecimal; `null` if the page names none. */
  readonly sha256: string | null;
  /** Whether its author has withdrawn it (PEP 592). */
  readonly isYanked: boolean;
}

/** A file of a page, unchecked. */
interface Listed {
  readonly file: string;
  readonly url: string;
  readonly sha256: string | null;
  readonly python: string;
  readonly isYanked: boolean;
}

const FILES_MAX = 50_000;
const ATTRIBUTES_MAX = 8 * 1024;
/** Permitted names of a wheel's file: it is written under this name. */
const FILE = /^[\w.+!-]{1,255}$/;
const SHA256 = /^[\da-f]{64}$/i;
const ANCHOR = /<a\s([^<>]*)>/gi;
const ATTRIBUTE = /([a-z-]{1,40})\s{0,9}(?:=\s{0,9}(?:"([^"]*)"|'([^']*)'))?/gi;
const ENTITY = /&(?:(amp|lt|gt|quot|apos)|#(\d{1,7})|#x([\da-f]{1,6}));/gi;
const ENTITIES: ReadonlyMap<string, string> = new Map([
  ["amp", "&"],
  ["lt", "<"],
  ["gt", ">"],
  ["quot", '"'],
  ["apos", "'"],
]);

/**
 * The wheels on a page that this Python may install, in its forms of HTML (PEP 503) and JSON (PEP 691). `name`:
 * normalized. `address`: of the page. Throws a `PackageError` for a page of another form.
 */
export function readIndexPage(text: string, type: string, name: string, address: URL): readonly IndexedWheel[] {
  const listed = type.includes("json") ? readJson(text) : readHtml(text);
  if (listed.length > FILES_MAX) throw new PackageError(`it lists more than ${FILES_MAX} files`);
  return listed.flatMap(({ file, url, sha256, python, isYanked }) => {
    const wheel = FILE.test(file) ? readWheelName(file) : null;
    const target = URL.parse(url, address);
    if (wheel?.name !== name || target === null) return [];
    if (python !== "" && !(isSpecifiers(python) && admits(python, PYTHON_VERSION))) return [];
    const hash = sha256 !== null && SHA256.test(sha256) ? sha256.toLowerCase() : null;
    return [{ name: wheel, url: target, sha256: hash, isYanked }];
  });
}

function readJson(text: string): readonly Listed[] {
  let page: unknown;
  try {
    page = JSON.parse(text);
  } catch {
    throw new PackageError("it is not JSON, as it says");
  }
  const version: unknown = memberOf(memberOf(page, "meta"), "api-version");
  const files: unknown = memberOf(page, "files");
  if (typeof version !== "string" || !version.startsWith("1.") || !Array.isArray(files)) {
    const said = typeof version === "string" ? `version ${quoted(version)}` : "no version";
    throw new PackageError(`it is no list of files in version 1 of the simple API: it says ${said}`);
  }
  return files.flatMap((one: unknown) => {
    if (!isObject(one)) return [];
    const { filename, url, hashes, "requires-python": python, yanked } = one;
    if (typeof filename !== "string" || typeof url !== "string") return [];
    const sha256 = memberOf(hashes, "sha256");
    return {
      file: filename,
      url,
      sha256: typeof sha256 === "string" ? sha256 : null,
      python: typeof python === "string" ? python : "",
      isYanked: yanked === true || typeof yanked === "string",
    };
  });
}

function readHtml(text: string): readonly Listed[] {
  return [...text.matchAll(ANCHOR)].flatMap(([, written = ""]) => {
    const attributes = new Map(
      [...written.slice(0, ATTRIBUTES_MAX).matchAll(ATTRIBUTE)].map(([, name = "", one, other = ""]) => {
        return [name.toLowerCase(), decoded(one ?? other)] as const;
      }),
    );
    const [url = "", fragment = ""] = (attributes.get("href") ?? "").split("#");
    const file = decodedUrl(url.replace(/\?.*$/s, "").replace(/^.*\//s, ""));
    return {
      file,
      url,
      sha256: fragment.startsWith("sha256=") ? fragment.slice("sha256=".length) : null,
      python: attributes.get("data-requires-python") ?? "",
      isYanked: attributes.has("data-yanked"),
    };
  });
}

function decoded(text: string): string {
  return text.replaceAll(ENTITY, (all, name?: string, decimal?: string, hex?: string) => {
    if (name !== undefined) return ENTITIES.get(name.toLowerCase()) ?? all;
    const code = decimal === undefined ? Number.parseInt(hex ?? "", 16) : Number(decimal);
    return code <= 0x10_ff_ff ? String.fromCodePoint(code) : all;
  });
}

function decodedUrl(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}
