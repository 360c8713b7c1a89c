/** TypeScript's compiler, on texts. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { SyntaxKind } from "typescript/unstable/ast";
import { API } from "typescript/unstable/sync";

const CONFIG = {
  compilerOptions: {
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    noEmit: true,
    target: "esnext",
    lib: ["esnext"],
    types: [],
    module: "nodenext",
    moduleDetection: "force",
    paths: { glovebox: ["./glovebox.ts"] },
  },
  include: ["*.ts"],
};
/** What the files augment. */
const GLOVEBOX = "export interface Register {}\n";

/** A statement at the top of a file. */
export interface Statement {
  readonly kind: string;
  readonly name: string;
  /** Names of an interface's members. */
  readonly members: readonly string[];
}

export interface Compiled {
  readonly errors: readonly string[];
  readonly statements: readonly Statement[];
}

interface Named {
  readonly name?: { readonly text: string };
}

/** Compiles files in a folder of their own, which the compiler stays open for. */
export class Compiler implements Disposable {
  readonly #folder = mkdtempSync(join(tmpdir(), "glovebox-declarations-"));
  readonly #api = new API({ cwd: this.#folder });
  #runs = 0;

  /** Compiles files together; answers for each in their order. */
  compile(files: Readonly<Record<string, string>>): ReadonlyMap<string, Compiled> {
    const folder = join(this.#folder, String(this.#runs++));
    const all = { ...files, "glovebox.ts": GLOVEBOX, "package.json": '{ "type": "module" }' };
    for (const [name, text] of Object.entries({ ...all, "tsconfig.json": JSON.stringify(CONFIG) })) {
      const path = join(folder, name);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, text);
    }
    const config = join(folder, "tsconfig.json");
    const snapshot = this.#api.updateSnapshot({ openProjects: [config], closeProjects: [] });
    try {
      const program = snapshot.getProject(config)?.program;
      if (program === undefined) throw new Error("the compiler opened no project");
      return new Map(
        Object.keys(files).map((name) => {
          const path = join(folder, name);
          const found = [...program.getSyntacticDiagnostics(path), ...program.getSemanticDiagnostics(path)];
          const statements = program.getSourceFile(path)?.statements ?? [];
          return [name, { errors: found.map(({ text }) => text), statements: statements.map(describe) }];
        }),
      );
    } finally {
      snapshot.dispose();
    }
  }

  /** What is wrong with a file. */
  errorsOf(text: string): readonly string[] {
    return this.compile({ "file.ts": text }).get("file.ts")?.errors ?? [];
  }

  [Symbol.dispose](): void {
    this.#api.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

function describe(node: object): Statement {
  const {
    kind,
    name,
    members = [],
  } = node as Named & { readonly kind: SyntaxKind; readonly members?: Iterable<Named> };
  return {
    kind: SyntaxKind[kind],
    name: name?.text ?? "",
    members: Array.from(members, ({ name: member }) => member?.text ?? ""),
  };
}
