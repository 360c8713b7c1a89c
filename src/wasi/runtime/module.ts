import {
  EXPORT_SECTION,
  FUNCTION_KIND,
  MEMORY_KIND,
  readCount,
  readerOf,
  readImports,
  readSections,
  WasmError,
  type WasmSection,
} from "../../kernel/base/wasm/wasm-sections.ts";
import { componentProblem } from "./wasm-component.ts";
import { limitMemory, PAGES_MAX } from "../../kernel/base/wasm/wasm-memory.ts";

const WASI = "wasi_snapshot_preview1";
/** The module name of WASI before its first preview. */
const OLDER = "wasi_unstable";
const ENTRY = "_start";
const MEMORY = "memory";

/**
 * All functions of WASI's first preview. Those that tools do not need exist, and return that they are not supported.
 */
const FUNCTIONS: ReadonlySet<string> = new Set(
  (
    "args_get args_sizes_get environ_get environ_sizes_get clock_res_get clock_time_get fd_advise fd_allocate fd_close " +
    "fd_datasync fd_fdstat_get fd_fdstat_set_flags fd_fdstat_set_rights fd_filestat_get fd_filestat_set_size " +
    "fd_filestat_set_times fd_pread fd_prestat_get fd_prestat_dir_name fd_pwrite fd_read fd_readdir fd_renumber fd_seek " +
    "fd_sync fd_tell fd_write path_create_directory path_filestat_get path_filestat_set_times path_link path_open " +
    "path_readlink path_remove_directory path_rename path_symlink path_unlink_file poll_oneoff proc_exit proc_raise " +
    "sched_yield random_get sock_accept sock_recv sock_send sock_shutdown"
  ).split(" "),
);

/**
 * Checks that a module is a WASI preview 1 command whose memory can be limited. Nothing is compiled. Throws a
 * `WasmError` that names the problem.
 */
export function checkWasiModule(bytes: Uint8Array): void {
  const problem = componentProblem(bytes);
  if (problem !== null) throw new WasmError(problem);
  const sections = readSections(bytes);
  for (const { module, name, kind } of readImports(bytes, sections)) {
    const shown = JSON.stringify(`${module}.${name}`.slice(0, 200));
    if (module === OLDER) throw new WasmError(`imports ${shown}, of an older WASI: build it for wasm32-wasip1`);
    if (module !== WASI || kind !== FUNCTION_KIND || !FUNCTIONS.has(name)) {
      throw new WasmError(`imports ${shown}, and may import functions of ${WASI} only: build it for wasm32-wasip1`);
    }
  }
  const exported = readExports(bytes, sections);
  if (exported.get(ENTRY) !== FUNCTION_KIND) {
    throw new WasmError(`exports no function ${ENTRY}: only a command can be a tool, and no library`);
  }
  if (exported.get(MEMORY) !== MEMORY_KIND) throw new WasmError(`exports no memory called ${MEMORY}, which WASI needs`);
  limitMemory(bytes, PAGES_MAX);
}

/** The kinds of a module's exports, keyed by name. */
function readExports(bytes: Uint8Array, sections: readonly WasmSection[]): ReadonlyMap<string, number> {
  const kinds = new Map<string, number>();
  const reader = readerOf(bytes, sections, EXPORT_SECTION)?.reader;
  if (reader === undefined) return kinds;
  const count = readCount(reader, "exports");
  for (let index = 0; index < count; index++) {
    kinds.set(reader.name(), reader.byte());
    reader.u32();
  }
  return kinds;
}
