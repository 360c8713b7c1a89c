/** Packages whose modules have other names. */
const PACKAGES: ReadonlyMap<string, string> = new Map([
  ["attr", "attrs"],
  ["bs4", "beautifulsoup4"],
  ["dateutil", "python-dateutil"],
  ["dotenv", "python-dotenv"],
  ["jwt", "pyjwt"],
  ["markdown_it", "markdown-it-py"],
  ["PIL", "pillow"],
  ["sklearn", "scikit-learn"],
  ["yaml", "pyyaml"],
  // The standard library's, which uses the data of the package if it is installed.
  ["zoneinfo", "tzdata"],
]);

/** Comments and strings, which contain no statements. */
const NO_CODE =
  /#[^\n]*|"""(?:\\[\s\S]|[^\\])*?(?:"""|$)|'''(?:\\[\s\S]|[^\\])*?(?:'''|$)|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'/g;
/** Condition of imports that only type checkers make. */
const FOR_TYPES = /^\s*if\s+(?:\w+\.)?TYPE_CHECKING\s*:/;
const IMPORT = /^[ \t]*import[ \t]+([^;]+)/;
const FROM = /^[ \t]*from[ \t]+(\.*)([\w.]*)[ \t]+import[ \t]+([^;]*)/;
/** The text before the name of a module that is imported by a call. */
const BY_CALL = /\b(?:__import__|import_module)\(\s*$/;
const CALL_MAX = 32;
const NAME_TEXT = /^(["'])([A-Za-z_][\w.]*)\1$/;
const LINES_MAX = 100_000;
/** Maximum number of lines of the names in one statement. */
const NAMES_LINES_MAX = 200;

/** The normalized name (PEP 503) of the package that has a module, guessed from the module's name. */
export function packageOfModule(name: string): string {
  return PACKAGES.get(name) ?? name.toLowerCase().replaceAll(/[-_.]+/g, "-");
}

/**
 * Modules in the import statements of a module's text: of `from a import b` both `a` and `a.b`, as `b` may be a module.
 * Calls that import a module are included if they name it literally. `folder`: the module's package, by its dotted
 * name, to which relative names refer.
 */
export function importsIn(text: string, folder: string): ReadonlySet<string> {
  const found = new Set<string>();
  const code = text.replaceAll(NO_CODE, (part: string, at: number) => {
    const [, , name] = NAME_TEXT.exec(part) ?? [];
    if (name !== undefined && BY_CALL.test(text.slice(Math.max(0, at - CALL_MAX), at))) found.add(name);
    return part.startsWith("#") ? "" : '""';
  });
  const lines = code.split("\n", LINES_MAX);
  let typesDepth: number | null = null;
  for (const [at, line] of lines.entries()) {
    if (line.trim() === "") continue;
    const depth = line.search(/\S/);
    if (typesDepth !== null && depth > typesDepth) continue;
    typesDepth = FOR_TYPES.test(line) ? depth : null;
    const [, list] = IMPORT.exec(line) ?? [];
    for (const name of namesIn(list ?? "")) found.add(name);
    const [, dots, module = "", first = ""] = FROM.exec(line) ?? [];
    if (dots === undefined) continue;
    const base = dots === "" ? module : relative(folder, dots.length, module);
    if (base === "") continue;
    found.add(base);
    for (const name of namesIn(isOpen(first) ? wholeList(lines, at, first) : first)) found.add(`${base}.${name}`);
  }
  return found;
}

function relative(folder: string, dots: number, module: string): string {
  const parts = folder.split(".");
  const above = parts.slice(0, parts.length - dots + 1);
  return [...above, module].filter((part) => part !== "").join(".");
}

function isOpen(names: string): boolean {
  return names.includes("(") ? !names.includes(")") : names.trimEnd().endsWith("\\");
}

/** The names of a statement that continues on the next lines. */
function wholeList(lines: readonly string[], at: number, first: string): string {
  let names = first;
  for (const line of lines.slice(at + 1, at + NAMES_LINES_MAX)) {
    names += ` ${line}`;
    if (!isOpen(names)) break;
  }
  return names;
}

function namesIn(list: string): readonly string[] {
  return list
    .replaceAll(/[()\\]/g, " ")
    .split(",")
    .map((one) => one.trim().split(/\s/, 1)[0] ?? "")
    .filter((name) => /^[\w.]+$/.test(name));
}
