/** A WebAssembly module refused before V8 compiles it; the message says why. */
export class WasmError extends Error {
  override readonly name = "WasmError";
}

/** A section of a module, with its offsets. */
export interface WasmSection {
  readonly id: number;
  /** Offsets of the section's id, of its content, and of its end. */
  readonly start: number;
  readonly bodyStart: number;
  readonly end: number;
}

export const CUSTOM_SECTION = 0;
export const TYPE_SECTION = 1;
export const IMPORT_SECTION = 2;
export const TABLE_SECTION = 4;
export const MEMORY_SECTION = 5;
export const EXPORT_SECTION = 7;

/** Kinds of imports and exports. */
export const FUNCTION_KIND = 0;
export const TABLE_KIND = 1;
export const MEMORY_KIND = 2;
export const GLOBAL_KIND = 3;
export const TAG_KIND = 4;

/** Magic and version. */
const HEADER = [0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00];
/** The required order of section ids: tags come before globals, and the data count before the code. */
const ORDER = [1, 2, 3, 4, 5, 13, 6, 7, 8, 9, 12, 10, 11];
/** Maximum size of a module, in bytes. */
export const MODULE_BYTES_MAX = 16 * 1024 * 1024;
/** Maximum number of imports and of exports: commands have dozens. */
const NAMES_MAX = 100_000;
/** Maximum length of an encoded 32-bit number (LEB128), in bytes. */
const U32_BYTES_MAX = 5;

/** Reads a range of a module. Throws a `WasmError` if it ends too early. */
export class WasmReader {
  readonly #bytes: Uint8Array;
  readonly #end: number;
  at: number;

  constructor(bytes: Uint8Array, start: number, end: number) {
    this.#bytes = bytes;
    this.at = start;
    this.#end = end;
  }

  get isAtEnd(): boolean {
    return this.at >= this.#end;
  }

  byte(): number {
    const byte = this.at < this.#end ? this.#bytes[this.at++] : undefined;
    if (byte === undefined) throw new WasmError("ends in the midst of something");
    return byte;
  }

  /** An unsigned 32-bit number (LEB128). */
  u32(): number {
    let value = 0;
    for (let index = 0; index < U32_BYTES_MAX; index++) {
      const byte = this.byte();
      if (index === U32_BYTES_MAX - 1 && byte > 0x0f) break;
      value += (byte & 0x7f) * 2 ** (7 * index);
      if (byte < 0x80) return value;
    }
    throw new WasmError("holds a number that is too long");
  }

  /** Skips `length` bytes. */
  skip(length: number): void {
    if (length > this.#end - this.at) throw new WasmError("ends in the midst of something");
    this.at += length;
  }

  name(): string {
    const length = this.u32();
    const start = this.at;
    this.skip(length);
    return Buffer.from(this.#bytes.subarray(start, this.at)).toString("utf8");
  }
}

/** The sections of a module in order. Throws a `WasmError` if they are malformed. */
export function readSections(bytes: Uint8Array): readonly WasmSection[] {
  if (bytes.length > MODULE_BYTES_MAX) throw new WasmError(`is larger than ${MODULE_BYTES_MAX} bytes`);
  if (HEADER.some((byte, index) => bytes[index] !== byte)) {
    throw new WasmError("is no WebAssembly module of version 1: a component, or something else");
  }
  const reader = new WasmReader(bytes, HEADER.length, bytes.length);
  const sections: WasmSection[] = [];
  let last = -1;
  while (!reader.isAtEnd) {
    const start = reader.at;
    const id = reader.byte();
    const length = reader.u32();
    const bodyStart = reader.at;
    reader.skip(length);
    sections.push({ id, start, bodyStart, end: reader.at });
    if (id === CUSTOM_SECTION) continue;
    const place = ORDER.indexOf(id);
    if (place === -1) throw new WasmError(`has a section ${id}, which is unknown`);
    if (place <= last) throw new WasmError(`has its section ${id} twice, or not in order`);
    last = place;
  }
  return sections;
}

/** A reader of a section's content; `null` if the module has no section with that id. */
export function readerOf(
  bytes: Uint8Array,
  sections: readonly WasmSection[],
  id: number,
): { readonly section: WasmSection; readonly reader: WasmReader } | null {
  const section = sections.find((one) => one.id === id);
  return section === undefined ? null : { section, reader: new WasmReader(bytes, section.bodyStart, section.end) };
}

/** One import of a module. */
export interface WasmImport {
  readonly module: string;
  readonly name: string;
  readonly kind: number;
}

/** Reads the number of names that follow. */
export function readCount(reader: WasmReader, what: "imports" | "exports"): number {
  const count = reader.u32();
  if (count > NAMES_MAX) throw new WasmError(`has ${count} ${what}, and may have ${NAMES_MAX}`);
  return count;
}

/**
 * The imports of a module. Throws a `WasmError` for malformed imports, and for imported memories and tables, which are
 * not allowed.
 */
export function readImports(bytes: Uint8Array, sections: readonly WasmSection[]): readonly WasmImport[] {
  const found = readerOf(bytes, sections, IMPORT_SECTION);
  if (found === null) return [];
  const { reader } = found;
  const count = readCount(reader, "imports");
  const imports: WasmImport[] = [];
  while (imports.length < count) {
    const one = { module: reader.name(), name: reader.name(), kind: reader.byte() };
    imports.push(one);
    skipImportType(reader, one.kind);
  }
  if (!reader.isAtEnd) throw new WasmError("has more imports than it says");
  return imports;
}

function skipImportType(reader: WasmReader, kind: number): void {
  switch (kind) {
    case FUNCTION_KIND:
      reader.u32();
      return;
    case TABLE_KIND:
      throw new WasmError("imports a table, and has to bring its own");
    case MEMORY_KIND:
      throw new WasmError("imports a memory, and has to bring its own");
    case GLOBAL_KIND:
      skipType(reader);
      reader.byte();
      return;
    case TAG_KIND:
      reader.byte();
      reader.u32();
      return;
    default:
      throw new WasmError(`imports something of the kind ${kind}, which is unknown`);
  }
}

/** Skips a value type: one byte, followed by a heap type for some references. */
export function skipType(reader: WasmReader): void {
  const type = reader.byte();
  const hasHeapType = type === 0x63 || type === 0x64;
  if (!hasHeapType) return;
  // The heap type is a signed LEB128 number; its value does not matter, so it is skipped up to its last byte.
  for (let index = 0; index < U32_BYTES_MAX; index++) if (reader.byte() < 0x80) return;
  throw new WasmError("holds a number that is too long");
}
