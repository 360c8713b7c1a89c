/** A WebAssembly module that is refused before V8 sees it, and why. */
export class WasmError extends Error {
  override readonly name = "WasmError";
}

/** A part of a module: its number and where it lies. */
export interface WasmSection {
  readonly id: number;
  /** Of the section's number, of what it holds, and of what follows. */
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

/** What imports and exports are. */
export const FUNCTION_KIND = 0;
export const TABLE_KIND = 1;
export const MEMORY_KIND = 2;
export const GLOBAL_KIND = 3;
export const TAG_KIND = 4;

/** Magic and version. */
const HEADER = [0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00];
/** The order of sections, by number: tags come before globals, and the count of the data before the code. */
const ORDER = [1, 2, 3, 4, 5, 13, 6, 7, 8, 9, 12, 10, 11];
/** Largest module, in bytes. */
export const MODULE_BYTES_MAX = 16 * 1024 * 1024;
/** What a module may have of imports, and of exports: commands have dozens. */
const NAMES_MAX = 100_000;
/** Bytes of a number of 32 bits, at the most. */
const U32_BYTES_MAX = 5;

/** Reads a part of a module from its start to its end. Throws a `WasmError` where there is less than what is read. */
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

  /** A number without a sign, of 32 bits. */
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

  /** Goes on behind so many bytes. */
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

/** The sections of a module, in their order. Throws a `WasmError` where they are not as they have to be. */
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

/** A reader of what a section holds; `null` where the module has none of that number. */
export function readerOf(
  bytes: Uint8Array,
  sections: readonly WasmSection[],
  id: number,
): { readonly section: WasmSection; readonly reader: WasmReader } | null {
  const section = sections.find((one) => one.id === id);
  return section === undefined ? null : { section, reader: new WasmReader(bytes, section.bodyStart, section.end) };
}

/** What a module asks for: its kind, and by which names. */
export interface WasmImport {
  readonly module: string;
  readonly name: string;
  readonly kind: number;
}

/** How many names follow. */
export function readCount(reader: WasmReader, what: "imports" | "exports"): number {
  const count = reader.u32();
  if (count > NAMES_MAX) throw new WasmError(`has ${count} ${what}, and may have ${NAMES_MAX}`);
  return count;
}

/** What a module imports. Throws a `WasmError` where that cannot be read, which memories and tables are not. */
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

/** A type of values: one byte, and for some references what they refer to. */
export function skipType(reader: WasmReader): void {
  const type = reader.byte();
  const hasHeapType = type === 0x63 || type === 0x64;
  if (!hasHeapType) return;
  // Its sign does not matter here, so it ends where a number does.
  for (let index = 0; index < U32_BYTES_MAX; index++) if (reader.byte() < 0x80) return;
  throw new WasmError("holds a number that is too long");
}
