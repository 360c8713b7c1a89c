import {
  CUSTOM_SECTION,
  EXPORT_SECTION,
  MEMORY_SECTION,
  readCount,
  readerOf,
  readImports,
  readSections,
  requireFunctionTypes,
  TABLE_SECTION,
  WasmError,
  WasmReader,
  type WasmSection,
} from "./wasm-sections.ts";

/** A module that is linked into a running one at run time, and uses its memory and its table. */
export interface SideModule {
  /** Names of the libraries that have to be loaded before it. */
  readonly needs: readonly string[];
}

/** Maximum memory of a side module at its load, in bytes. */
const MEMORY_MAX = 64 * 1024 * 1024;
/** Maximum alignment of it, as a power of two. */
const ALIGNMENT_MAX = 16;
/** Maximum number of its functions in the common table, of whose 128 Ki entries the interpreter has 10 Ki. */
const TABLE_MAX = 64 * 1024;
const NEEDS_MAX = 64;

/**
 * The section that describes how a module is linked; it is the first (WebAssembly's tool conventions, dynamic linking).
 */
const LINKING = "dylink.0";
const MEMORY_INFO = 1;
const NEEDED = 2;

/**
 * Permitted sources of a side module's imports: functions and values by name, and addresses of the linker's two tables.
 */
const SOURCES: readonly string[] = ["env", "wasi_snapshot_preview1", "GOT.mem", "GOT.func"];
/** Exports whose memory the linker would evaluate as JavaScript. */
const SCRIPTS = /^__(?:em_js__|start_em_(?:asm|js)$)/;

/** Reads a side module. Throws a `WasmError` with the reason if it is refused. */
export function readSideModule(bytes: Uint8Array): SideModule {
  const sections = readSections(bytes);
  const needs = readLinking(bytes, sections[0]);
  requireFunctionTypes(bytes, sections);
  for (const { module, name } of readImports(bytes, sections, true)) {
    if (SOURCES.includes(module)) continue;
    throw new WasmError(`imports ${name.slice(0, 100)} of ${module.slice(0, 100)}, which is not there`);
  }
  for (const [id, what] of [[MEMORY_SECTION, "a memory"] as const, [TABLE_SECTION, "a table"] as const]) {
    const count = readerOf(bytes, sections, id)?.reader.u32() ?? 0;
    if (count > 0) throw new WasmError(`has ${what} of its own, and has to use that of the interpreter`);
  }
  requireNoScripts(bytes, sections);
  return { needs };
}

function readLinking(bytes: Uint8Array, first: WasmSection | undefined): readonly string[] {
  const reader = first?.id === CUSTOM_SECTION ? new WasmReader(bytes, first.bodyStart, first.end) : null;
  if (reader?.name() !== LINKING) {
    throw new WasmError("is no side module: build it as a library for dynamic linking, as Emscripten does");
  }
  let needs: readonly string[] = [];
  while (!reader.isAtEnd) {
    const kind = reader.byte();
    const length = reader.u32();
    const part = new WasmReader(bytes, reader.at, reader.at + length);
    reader.skip(length);
    if (kind === MEMORY_INFO) checkSizes(part);
    else if (kind === NEEDED) needs = readNames(part);
  }
  return needs;
}

function checkSizes(reader: WasmReader): void {
  const [memory, memoryAlignment, table, tableAlignment] = [reader.u32(), reader.u32(), reader.u32(), reader.u32()];
  if (memory > MEMORY_MAX) throw new WasmError(`takes ${memory} bytes of memory, and may take ${MEMORY_MAX}`);
  if (table > TABLE_MAX) throw new WasmError(`has ${table} functions in the table, and may have ${TABLE_MAX}`);
  if (Math.max(memoryAlignment, tableAlignment) > ALIGNMENT_MAX) {
    throw new WasmError(`has an alignment beyond 2 to the power of ${ALIGNMENT_MAX}`);
  }
}

function readNames(reader: WasmReader): readonly string[] {
  const count = reader.u32();
  if (count > NEEDS_MAX) throw new WasmError(`needs ${count} libraries, and may need ${NEEDS_MAX}`);
  return Array.from({ length: count }, () => reader.name());
}

function requireNoScripts(bytes: Uint8Array, sections: readonly WasmSection[]): void {
  const reader = readerOf(bytes, sections, EXPORT_SECTION)?.reader;
  if (reader === undefined) return;
  for (let left = readCount(reader, "exports"); left > 0; left--) {
    const name = reader.name();
    if (SCRIPTS.test(name)) throw new WasmError("brings JavaScript of its own (EM_JS or EM_ASM), which is not run");
    reader.byte();
    reader.u32();
  }
}
