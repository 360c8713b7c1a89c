import { WasmError } from "../../kernel/base/wasm/wasm-sections.ts";
import { readSideModule, type SideModule } from "../../kernel/base/wasm/side-module.ts";
import { PackageError, quoted } from "../../kernel/tool/package/step.ts";

/** Machine code of a package, which the interpreter links into itself. */
export interface Library extends SideModule {
  readonly bytes: Uint8Array;
}

/** Keyed by path in site-packages. */
export type Libraries = ReadonlyMap<string, Library>;

/** The folder in site-packages in which libraries are found by name only; the interpreter uses the same name. */
export const LIBRARIES_FOLDER = ".libraries";
/** Maximum of all libraries of a tool: each worker holds their text, and V8 their code. */
const LIBRARIES_BYTES_MAX = 32 * 1024 * 1024;
const LIBRARIES_MAX = 500;

/** Checks machine code. Throws a `PackageError` that names its path. */
export function readLibrary(bytes: Uint8Array, path: string): Library {
  try {
    return { ...readSideModule(bytes), bytes };
  } catch (error) {
    if (!(error instanceof WasmError)) throw error;
    throw new PackageError(`its compiled code ${quoted(path)} ${error.message}`);
  }
}

/** Checks that all libraries of a tool can be loaded together. Throws a `PackageError`. */
export function checkLibraries(libraries: Libraries): void {
  if (libraries.size > LIBRARIES_MAX) throw new PackageError(`its packages have more than ${LIBRARIES_MAX} libraries`);
  let bytes = 0;
  for (const library of libraries.values()) bytes += library.bytes.length;
  if (bytes > LIBRARIES_BYTES_MAX) {
    throw new PackageError(`the compiled code that it needs is ${bytes} bytes, more than ${LIBRARIES_BYTES_MAX}`);
  }
  const named = new Map([...libraries.keys()].map((path) => [path.slice(path.lastIndexOf("/") + 1), path]));
  const done = new Set<string>();
  const visit = (path: string, above: readonly string[]): void => {
    if (done.has(path)) return;
    for (const need of libraries.get(path)?.needs ?? []) {
      const needed = named.get(need.slice(need.lastIndexOf("/") + 1));
      if (needed === undefined) {
        throw new PackageError(
          `its compiled code ${quoted(path)} needs the library ${quoted(need)}, which no wheel has; ${WHERE}`,
        );
      }
      if (needed === path || above.includes(needed)) {
        throw new PackageError(`its libraries ${quoted(path)} and ${quoted(needed)} need each other`);
      }
      visit(needed, [...above, path]);
    }
    done.add(path);
  };
  for (const path of libraries.keys()) visit(path, []);
}

const WHERE =
  "the operator can put the archive that has it into the folder packages.wheels, with the pyodide-lock.json that names it";
