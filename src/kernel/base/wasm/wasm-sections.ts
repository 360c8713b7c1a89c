/** A WebAssembly module refused before V8 compiles it; the message has the reason. */
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
/** Flags of limits with and without a maximum; all other bits mean shared memories or 64-bit addresses. */
export const BOUNDED = 1;
const UNBOUNDED = 0;
/** First byte of a function type: other types describe values in V8's heap, where one array may take a gigabyte. */
const FUNCTION_TYPE = 0x60;

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
    throw new WasmError("is no WebAssembly module of version 1");
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
 * not allowed unless it `isLinked` into another module's.
 */
export function readImports(
  bytes: Uint8Array,
  sections: readonly WasmSection[],
  isLinked = false,
): readonly WasmImport[] {
  const found = readerOf(bytes, sections, IMPORT_SECTION);
  if (found === null) return [];
  const { reader } = found;
  const count = readCount(reader, "imports");
  const imports: WasmImport[] = [];
  while (imports.length < count) {
    const one = { module: reader.name(), name: reader.name(), kind: reader.byte() };
    imports.push(one);
    skipImportType(reader, one.kind, isLinked);
  }
  if (!reader.isAtEnd) throw new WasmError("has more imports than it says");
  return imports;
}

function skipImportType(reader: WasmReader, kind: number, isLinked: boolean): void {
  switch (kind) {
    case FUNCTION_KIND:
      reader.u32();
      return;
    case TABLE_KIND:
      if (!isLinked) throw new WasmError("imports a table, and has to bring its own");
      skipType(reader);
      readLimits(reader, "table");
      return;
    case MEMORY_KIND:
      if (!isLinked) throw new WasmError("imports a memory, and has to bring its own");
      readLimits(reader, "memory");
      return;
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

/** Requires that a module has only function types. Throws a `WasmError`. */
export function requireFunctionTypes(bytes: Uint8Array, sections: readonly WasmSection[]): void {
  const reader = readerOf(bytes, sections, TYPE_SECTION)?.reader;
  if (reader === undefined) return;
  for (let left = reader.u32(); left > 0; left--) {
    if (reader.byte() !== FUNCTION_TYPE) {
      throw new WasmError(
        "has types of garbage-collected values, whose memory cannot be limited: build it without WasmGC",
      );
    }
    for (const _ of ["parameters", "results"]) for (let types = reader.u32(); types > 0; types--) skipType(reader);
  }
}

/** Reads the limits of a memory or a table. Throws a `WasmError`. */
export function readLimits(reader: WasmReader, what: string): { readonly min: number; readonly max: number } {
  const flags = reader.byte();
  if (flags !== BOUNDED && flags !== UNBOUNDED) {
    throw new WasmError(`has a ${what} that is shared, or has addresses of 64 bits, or pages of its own size`);
  }
  const min = reader.u32();
  const max = flags === BOUNDED ? reader.u32() : Infinity;
  if (max < min) throw new WasmError(`has a ${what} whose maximum is below its minimum`);
  return { min, max };
}
