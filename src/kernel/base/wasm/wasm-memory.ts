import {
  BOUNDED,
  MEMORY_SECTION,
  readerOf,
  readImports,
  readLimits,
  readSections,
  requireFunctionTypes,
  skipType,
  TABLE_SECTION,
  WasmError,
  type WasmReader,
} from "./wasm-sections.ts";

/** Size of a memory page, in bytes. */
export const PAGE_BYTES = 64 * 1024;
/** Above 2 GiB, addresses would reach JavaScript as negative numbers. */
export const PAGES_MAX = 32_767;
/**
 * Limits on tables. Their entries are in V8's heap, and filling tables of ten million takes seconds, uninterruptibly.
 * Large programs have some ten thousand functions in one table.
 */
const TABLES_MAX = 4;
export const TABLE_ENTRIES_MAX = 128 * 1024;

/** First byte of a table with an initializer. */
const INITIALIZED_TABLE = 0x40;

/** Replacement bytes for a range of a module. */
interface Replacement {
  readonly start: number;
  readonly end: number;
  readonly bytes: readonly number[];
}

/**
 * The module with its memory and tables limited: V8 has no limit on the bytes of a memory. Throws a `WasmError` with
 * the reason if a module is refused. The result has a buffer of its own.
 */
export function limitMemory(bytes: Uint8Array, maxPages: number): Uint8Array<ArrayBuffer> {
  const sections = readSections(bytes);
  requireFunctionTypes(bytes, sections);
  // Refuses imported memories and tables.
  readImports(bytes, sections);
  const replacements: Replacement[] = [];
  for (const [id, limit] of [[TABLE_SECTION, limitTables] as const, [MEMORY_SECTION, limitMemories] as const]) {
    const found = readerOf(bytes, sections, id);
    if (found === null) continue;
    const body = limit(bytes, found.reader, Math.min(maxPages, PAGES_MAX));
    if (!found.reader.isAtEnd) throw new WasmError(`has a section ${id} that is longer than what it holds`);
    const { start, end } = found.section;
    replacements.push({ start, end, bytes: [id, ...encodeU32(body.length), ...body] });
  }
  return replace(bytes, replacements);
}

function limitMemories(_bytes: Uint8Array, reader: WasmReader, maxPages: number): number[] {
  const count = reader.u32();
  if (count > 1) throw new WasmError(`has ${count} memories, and may have one`);
  if (count === 0) return [0];
  const { min, max } = readLimits(reader, "memory");
  if (min > maxPages) {
    const mb = (pages: number): number => Math.ceil((pages * PAGE_BYTES) / (1024 * 1024));
    throw new WasmError(`needs a memory of ${mb(min)} MiB, and may have ${mb(maxPages)} MiB: raise limits.memoryMb`);
  }
  return [1, ...encodeLimits(min, Math.min(max, maxPages))];
}

function limitTables(bytes: Uint8Array, reader: WasmReader): number[] {
  const count = reader.u32();
  if (count > TABLES_MAX) throw new WasmError(`has ${count} tables, and may have ${TABLES_MAX}`);
  const body = [count];
  for (let index = 0; index < count; index++) {
    const start = reader.at;
    skipType(reader);
    const type = bytes.subarray(start, reader.at);
    if (type[0] === INITIALIZED_TABLE) throw new WasmError("has a table with an initializer, which is not supported");
    const { min, max } = readLimits(reader, "table");
    if (min > TABLE_ENTRIES_MAX) {
      throw new WasmError(`has a table of ${min} entries, and may have ${TABLE_ENTRIES_MAX}`);
    }
    body.push(...type, ...encodeLimits(min, Math.min(max, TABLE_ENTRIES_MAX)));
  }
  return body;
}

function encodeLimits(min: number, max: number): number[] {
  return [BOUNDED, ...encodeU32(min), ...encodeU32(max)];
}

function encodeU32(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  do {
    const low = rest % 128;
    rest = Math.floor(rest / 128);
    bytes.push(rest > 0 ? low | 0x80 : low);
  } while (rest > 0);
  return bytes;
}

/** `replacements` are sorted by offset. */
function replace(bytes: Uint8Array, replacements: readonly Replacement[]): Uint8Array<ArrayBuffer> {
  const parts: (Uint8Array | readonly number[])[] = [];
  let at = 0;
  for (const { start, end, bytes: part } of replacements) {
    parts.push(bytes.subarray(at, start), part);
    at = end;
  }
  parts.push(bytes.subarray(at));
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let to = 0;
  for (const part of parts) {
    whole.set(part, to);
    to += part.length;
  }
  return whole;
}
