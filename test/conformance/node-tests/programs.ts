import { parse } from "acorn";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** A test file of Node, in a form that tells the outcome of each of its statements. */
export interface Program {
  /** The name of the file: `test-path-join.js`. */
  readonly name: string;
  /** The file, with each statement that is not a declaration as a case of its own, named by its line. */
  readonly script: string;
  /** Modules of the suite's `fixtures` that the file requires, by their names. */
  readonly fixtures: Readonly<Record<string, string>>;
}

export function programsOf(suite: string, patterns: readonly string[]): readonly Program[] {
  const files = globSync([...patterns], { cwd: join(suite, "parallel") });
  return files.sort().flatMap((name) => {
    const text = readFileSync(join(suite, "parallel", name), "utf8");
    // A signal would end the process of the runner.
    if (text.includes("process.kill(")) return [];
    return { name, script: withCases(text), fixtures: fixturesOf(suite, text) };
  });
}

/** Statements that declare something stay as they are: what follows needs their names. */
const DECLARES = /Declaration$/;

function withCases(text: string): string {
  const program = parse(text, {
    ecmaVersion: "latest",
    sourceType: "script",
    allowReturnOutsideFunction: true,
    locations: true,
  });
  let script = "";
  let at = 0;
  for (const statement of program.body) {
    if (DECLARES.test(statement.type) || "directive" in statement) continue;
    const name = `line ${statement.loc?.start.line ?? 0}`;
    script += text.slice(at, statement.start);
    script += `try { __begin("${name}"); ${text.slice(statement.start, statement.end)}\n__pass("${name}"); } catch (error) { __fail("${name}", error); }`;
    at = statement.end;
  }
  return script + text.slice(at);
}

function fixturesOf(suite: string, text: string): Readonly<Record<string, string>> {
  const names = [...text.matchAll(/require\(fixtures\.path\('([\w./-]+\.js)'\)\)/g)].map(([, name = ""]) => name);
  return Object.fromEntries(names.map((name) => [name, readFileSync(join(suite, "fixtures", name), "utf8")]));
}
