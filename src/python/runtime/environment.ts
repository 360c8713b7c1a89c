/** The interpreter's environment, against which requirements are checked. */

/** The full version of the language. */
export const PYTHON_VERSION = "3.14.2";
/** Its minor version, which selects wheels. */
export const PYTHON_MINOR = 14;
/** The interpreter's binary interface, which compiled wheels and locks name. */
export const PYODIDE_ABI = "2026_0";
/** Tags of platforms with suitable compiled wheels: that of PEP 783, and Pyodide's earlier one. */
export const PLATFORMS: readonly string[] = [`pyemscripten_${PYODIDE_ABI}_wasm32`, `pyodide_${PYODIDE_ABI}_wasm32`];

/** The environment variables of markers (PEP 508), except `extra`. */
export const ENVIRONMENT: ReadonlyMap<string, string> = new Map([
  ["implementation_name", "cpython"],
  ["implementation_version", PYTHON_VERSION],
  ["os_name", "posix"],
  ["platform_machine", "wasm32"],
  ["platform_python_implementation", "CPython"],
  ["platform_release", ""],
  ["platform_system", "Emscripten"],
  ["platform_version", ""],
  ["python_full_version", PYTHON_VERSION],
  ["python_version", `3.${PYTHON_MINOR}`],
  ["sys_platform", "emscripten"],
]);
