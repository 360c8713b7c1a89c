import { WasmError, WasmReader } from "../../kernel/base/wasm/wasm-sections.ts";

/** Magic, and the version and layer of components, which modules do not have. */
const HEADER = [0x00, 0x61, 0x73, 0x6d, 0x0d, 0x00, 0x01, 0x00];
const EXPORT_SECTION = 11;
const SECTIONS_MAX = 10_000;
const EXPORTS_MAX = 1_000;
/** Bytes of a section of exports that are read. */
const EXPORTS_BYTES_MAX = 64 * 1024;
const NAME_SHOWN = 200;
const MODULES = "amplifier:modules/";
const TOOL = `${MODULES}tool`;
const REMEDY = "build it as a WASI command for wasm32-wasip1, or write it in JavaScript or Python";

/** The reason why a component cannot be a tool; `null` for a file that is no component. */
export function componentProblem(bytes: Uint8Array): string | null {
  if (HEADER.some((byte, index) => bytes[index] !== byte)) return null;
  const names = [...new Set(exportsOf(bytes))];
  const own = names.find((name) => name.startsWith(MODULES));
  if (own === undefined) {
    const shown = names.length === 0 ? "" : ` that exports ${quoted(names[0])}`;
    return `is a component${shown}, and only modules of WASI preview 1 run here: ${REMEDY}`;
  }
  if (own !== TOOL && !own.startsWith(`${TOOL}@`)) {
    return `is an Amplifier component that exports ${quoted(own)}, which is no tool; name a component that exports ${TOOL}`;
  }
  const what = `is an Amplifier tool as a component (it exports ${quoted(own)})`;
  return `${what}, and components do not run here: ${REMEDY} with mount(coordinator, config)`;
}

function quoted(name = ""): string {
  return JSON.stringify(name.slice(0, NAME_SHOWN));
}

/** Readable names of a component's exports, within the limits. */
function exportsOf(bytes: Uint8Array): readonly string[] {
  const names: string[] = [];
  try {
    const reader = new WasmReader(bytes, HEADER.length, bytes.length);
    for (let section = 0; section < SECTIONS_MAX && !reader.isAtEnd; section++) {
      const id = reader.byte();
      const length = reader.u32();
      const start = reader.at;
      reader.skip(length);
      if (id === EXPORT_SECTION)
        readExports(new WasmReader(bytes, start, Math.min(reader.at, start + EXPORTS_BYTES_MAX)), names);
    }
  } catch (error) {
    if (!(error instanceof WasmError)) throw error;
  }
  return names;
}

/** Adds the names of one section of exports. */
function readExports(reader: WasmReader, names: string[]): void {
  for (let left = reader.u32(); left > 0 && names.length < EXPORTS_MAX; left--) {
    // The kind of the name: plain, or of an interface.
    if (reader.byte() > 1) return;
    names.push(reader.name());
    if (reader.byte() === 0) reader.byte();
    reader.u32();
    if (reader.byte() !== 0 && !skipDescription(reader)) return;
  }
}

/** Skips the type of an export. Returns whether it is known. */
function skipDescription(reader: WasmReader): boolean {
  switch (reader.byte()) {
    case 0:
      reader.byte();
      break;
    case 1:
    case 4:
    case 5:
      break;
    case 3:
      // The type of a resource has no number.
      if (reader.byte() !== 0) return true;
      break;
    default:
      return false;
  }
  reader.u32();
  return true;
}
