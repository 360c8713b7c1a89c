/**
 * Writes a report of each entry's public API into `etc`, from the declarations that are published: a change of the API
 * is a difference that people see. `npm run docs:api`, after `npm run compile`.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript-6";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const COMPILED = path.join(ROOT, "compiled");
const HEAD = "Public API of";

interface Manifest {
  readonly exports: Readonly<Record<string, string | { readonly types: string }>>;
}

interface Entry {
  readonly name: string;
  readonly report: string;
  readonly file: string;
}

/** The entries of the package that have declarations. */
function entriesOf(): readonly Entry[] {
  const { exports } = JSON.parse(readFileSync(path.join(ROOT, "package.json"), "utf8")) as Manifest;
  return Object.entries(exports).flatMap(([entry, target]) => {
    if (typeof target === "string") return [];
    const name = entry.replace(".", "glovebox");
    const report = `${name.replaceAll("/", "-")}.api.md`;
    return [{ name, report, file: path.join(COMPILED, target.types.replace("./dist/", "")) }];
  });
}

/** The reports by the names of their files. What one has is only named in those after it. */
export function apiReports(): ReadonlyMap<string, string> {
  const entries = entriesOf();
  const options: ts.CompilerOptions = {
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    target: ts.ScriptTarget.ESNext,
    allowImportingTsExtensions: true,
    noEmit: true,
    types: ["node"],
    skipLibCheck: true,
  };
  const program = ts.createProgram(
    entries.map(({ file }) => file),
    options,
  );
  const printed = new Map<string, string>();
  return new Map(entries.map((entry) => [entry.report, reportOf(entry, program, printed)]));
}

function reportOf({ name, file }: Entry, program: ts.Program, printed: Map<string, string>): string {
  const checker = program.getTypeChecker();
  const source = program.getSourceFile(file);
  const module = source && checker.getSymbolAtLocation(source);
  if (module === undefined) throw new Error(`${file} has no exports: run npm run compile`);
  const exported = checker.getExportsOfModule(module).map((symbol) => resolved(symbol, checker));
  const open = [...exported];
  const known = new Set(open);
  const own: string[] = [];
  for (const symbol of open) {
    for (const declaration of (symbol.declarations ?? []).filter(isOurs)) {
      const text = print(declaration);
      const id = `${path.relative(COMPILED, declaration.getSourceFile().fileName)}:${declaration.pos}`;
      if (!printed.has(id)) own.push(text);
      printed.set(id, text);
      for (const used of symbolsIn(declaration, checker)) {
        if (known.has(used)) continue;
        known.add(used);
        open.push(used);
      }
    }
  }
  const names = checker.getExportsOfModule(module).map((symbol) => symbol.name);
  const list = names.toSorted().map((each) => `- \`${each}\``);
  return `# ${HEAD} \`${name}\`\n\n${list.join("\n")}\n\n\`\`\`ts\n${own.toSorted().join("\n\n")}\n\`\`\`\n`;
}

function resolved(symbol: ts.Symbol, checker: ts.TypeChecker): ts.Symbol {
  return symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
}

/** Whether a declaration is one of this package's, and stands by itself. */
function isOurs(node: ts.Declaration): boolean {
  const isWhole =
    ts.isInterfaceDeclaration(node) ||
    ts.isClassDeclaration(node) ||
    ts.isTypeAliasDeclaration(node) ||
    ts.isFunctionDeclaration(node) ||
    ts.isVariableDeclaration(node) ||
    ts.isEnumDeclaration(node);
  return isWhole && node.getSourceFile().fileName.startsWith(COMPILED);
}

function symbolsIn(node: ts.Node, checker: ts.TypeChecker): readonly ts.Symbol[] {
  const found: ts.Symbol[] = [];
  const visit = (each: ts.Node): void => {
    if (isInternal(each)) return;
    const symbol = ts.isIdentifier(each) ? checker.getSymbolAtLocation(each) : undefined;
    if (symbol !== undefined) found.push(resolved(symbol, checker));
    ts.forEachChild(each, visit);
  };
  visit(node);
  return found;
}

/** A member that users cannot use. Most classes are exported as types: their constructors are nobody's. */
function isInternal(node: ts.Node): boolean {
  if (ts.isConstructorDeclaration(node) && ts.isClassDeclaration(node.parent) && !isError(node.parent)) return true;
  if (ts.canHaveModifiers(node) && ts.getModifiers(node)?.some(({ kind }) => kind === ts.SyntaxKind.PrivateKeyword)) {
    return true;
  }
  return ts.getJSDocTags(node).some((tag) => tag.tagName.text === "internal");
}

function isError({ heritageClauses }: ts.ClassDeclaration): boolean {
  return (heritageClauses ?? []).some(({ types }) =>
    types.some(({ expression }) => expression.getText().endsWith("Error")),
  );
}

const printer = ts.createPrinter({ removeComments: true });

function print(node: ts.Declaration): string {
  // A variable's statement has its keyword.
  const whole = ts.isVariableDeclaration(node) ? node.parent.parent : node;
  const { transformed } = ts.transform(whole, [
    (context) => {
      const visit = (each: ts.Node): ts.Node | undefined =>
        isInternal(each) ? undefined : ts.visitEachChild(each, visit, context);
      return (root) => ts.visitEachChild(root, visit, context);
    },
  ]);
  const [shown = whole] = transformed;
  return printer.printNode(ts.EmitHint.Unspecified, shown, node.getSourceFile()).replaceAll("export declare ", "");
}

if (import.meta.main) {
  const folder = path.join(ROOT, "etc");
  mkdirSync(folder, { recursive: true });
  for (const [name, text] of apiReports()) writeFileSync(path.join(folder, name), text);
}
