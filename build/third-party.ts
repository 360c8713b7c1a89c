/** The npm packages whose code stands in what is published. */
import { readdir, readFile } from "node:fs/promises";
import path from "node:path";

/** What each does there. They are no dependencies of the package: it contains what it uses of them. */
export const BUNDLED: Readonly<Record<string, string>> = {
  "@noble/ciphers": "`crypto.subtle` and `node:crypto` in isolates",
  "@noble/curves": "`crypto.subtle` and `node:crypto` in isolates",
  "@noble/hashes": "`crypto.subtle` and `node:crypto` in isolates",
  "@noble/post-quantum": "`crypto.subtle` in isolates",
  "@preact/signals": "the console",
  "@preact/signals-core": "the console",
  ajv: "checks of schemas in isolates",
  "ajv-formats": "checks of schemas in isolates",
  "fast-deep-equal": "checks of schemas in isolates",
  "node-inspect-extracted": "`node:util` and `console` in isolates",
  pako: "`node:zlib` in isolates",
  preact: "the console",
  "readable-stream": "`node:stream` in isolates",
  unenv: "`node:url`, `node:querystring` and `node:punycode` in isolates",
  "web-streams-polyfill": "streams in isolates",
};

const NOTICE = /^(?:licen[cs]e|copying|notice)(?:[.-].*)?$/i;
const RULE = `\n${"-".repeat(80)}\n\n`;

/** The licences of bundled packages, from their folders: most ask to stand beside the code. */
export async function thirdPartyLicences(folders: readonly string[]): Promise<string> {
  const packages = await Promise.all(folders.map(readPackage));
  const found = packages.map(({ name }) => name);
  const wrong = [...new Set(found).symmetricDifference(new Set(Object.keys(BUNDLED)))];
  if (wrong.length > 0)
    throw new Error(`${wrong.join(", ")}: either bundled and not in BUNDLED of build/third-party.ts, or the reverse`);
  const head = "Glovebox contains code of these packages, most of it shortened.\n";
  return [head, ...packages.map(({ name, version, text }) => `${name} ${version}\n\n${text}\n`)].join(RULE);
}

async function readPackage(folder: string) {
  const { name, version } = JSON.parse(await readFile(path.join(folder, "package.json"), "utf8")) as {
    readonly name: string;
    readonly version: string;
  };
  const files = (await readdir(folder)).filter((file) => NOTICE.test(file)).toSorted();
  if (files.length === 0) throw new Error(`${name} has no text of its licence`);
  const texts = await Promise.all(files.map((file) => readFile(path.join(folder, file), "utf8")));
  return { name, version, text: texts.map((text) => text.trim()).join("\n\n") };
}
