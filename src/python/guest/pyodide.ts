/** The part of Pyodide that an interpreter uses. Options with an underscore are internal and depend on its version. */
export interface PyodideModules {
  readonly loadPyodide: (options: PyodideOptions) => Promise<Pyodide>;
  readonly createPyodideModule: unknown;
}

export interface PyodideOptions {
  readonly indexURL: string;
  readonly packageBaseUrl: string;
  readonly createPyodideModule: unknown;
  readonly lockFileContents: object;
  readonly jsglobals: object;
  readonly env: { readonly [name: string]: string };
  readonly stdin: () => null;
  readonly stdout: (line: string) => void;
  readonly stderr: (line: string) => void;
  readonly _makeSnapshot?: boolean;
  readonly _loadSnapshot?: Uint8Array;
}

export interface Pyodide {
  runPython(code: string, options?: { readonly globals?: object }): unknown;
  pyimport(name: string): object;
  makeMemorySnapshot(): Uint8Array;
  toPy(value: unknown): object;
  readonly _api: {
    /** Called on a fatal error of Python. */
    on_fatal?: (error: unknown) => void;
  };
  readonly _module: { readonly HEAPU8: Uint8Array; readonly wasmTable: { readonly length: number } };
}

/** A Python function. */
export interface PyFunction {
  (...args: readonly unknown[]): unknown;
  /** Calls the function so that it may wait for promises. */
  callPromising(...args: readonly unknown[]): Promise<unknown>;
}
