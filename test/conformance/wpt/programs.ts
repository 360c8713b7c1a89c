import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join, posix, relative } from "node:path";

/** A test file of the suite with one of its variants. */
export interface Program {
  /** Path in the suite, with the variant: `url/url-constructor.any.js?include=file`. */
  readonly name: string;
  /** The scripts that the file includes, and the file, as one script: they share a global scope. */
  readonly script: string;
  /** Texts of the files that the script may fetch, by path from the suite's root. */
  readonly files: Readonly<Record<string, string>>;
}

/** What a server would put into the placeholders of its files. No test connects to it. */
const PLACEHOLDERS: Readonly<Record<string, string>> = { host: "web-platform.test" };

/** The programs of a file or of all files in a folder. */
export function programsOf(suite: string, path: string): readonly Program[] {
  const files = path.endsWith(".js") ? globSync(path, { cwd: suite }) : globSync(`${path}/**/*.any.js`, { cwd: suite });
  return files.sort().flatMap((file) => programsOfFile(suite, file));
}

function programsOfFile(suite: string, file: string): readonly Program[] {
  const text = readFileSync(join(suite, file), "utf8");
  const meta = [...text.matchAll(/^\/\/ META: (\w+)=(.*)$/gm)];
  const valuesOf = (wanted: string) => meta.flatMap(([, key, value = ""]) => (key === wanted ? [value.trim()] : []));
  const included = valuesOf("script").map((script) =>
    script.startsWith("/") ? script.slice(1) : posix.join(posix.dirname(file), script),
  );
  const script = [...included.map((path) => readScript(suite, path)), text].join("\n;\n");
  const files = fetchedFiles(suite, file, script);
  const variants = valuesOf("variant");
  return (variants.length === 0 ? [""] : variants).map((variant) => ({ name: file + variant, script, files }));
}

/** The harness is in each program, so a file that includes it gets nothing more. */
function readScript(suite: string, path: string): string {
  if (/^resources\/testharness(?:report)?\.js$/.test(path)) return "";
  const file = join(suite, path === "resources/WebIDLParser.js" ? "resources/webidl2/lib/webidl2.js" : path);
  if (!existsSync(file)) return "";
  const text = readFileSync(file, "utf8");
  if (!path.includes(".sub.")) return text;
  return text.replaceAll(/\{\{([^}]*)\}\}/g, (_all, key: string) => PLACEHOLDERS[key] ?? "8000");
}

/** Data that the script names: JSON beside the test, and definitions of interfaces. */
function fetchedFiles(suite: string, file: string, script: string): Readonly<Record<string, string>> {
  const folder = dirname(join(suite, file));
  const near = globSync(["resources/*.json", "*.json"], { cwd: folder }).map((name) => join(folder, name));
  const named = near.filter((path) => script.includes(posix.basename(path)));
  const interfaces = script.includes("idl_test(") ? globSync("interfaces/*.idl", { cwd: suite }) : [];
  const paths = [...named, ...interfaces.map((name) => join(suite, name))];
  return Object.fromEntries(paths.map((path) => [`/${relative(suite, path)}`, readFileSync(path, "utf8")]));
}
