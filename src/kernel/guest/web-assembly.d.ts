/** The part of `WebAssembly` that engines of runtimes use, in realms that lose it before any tool runs. */
declare namespace WebAssembly {
  function validate(bytes: ArrayBufferLike | ArrayBufferView): boolean;

  type Imports = { readonly [module: string]: { readonly [name: string]: unknown } };

  class Module {
    constructor(bytes: ArrayBufferLike | ArrayBufferView);
    static imports(module: Module): { readonly module: string; readonly name: string; readonly kind: string }[];
    static exports(module: Module): { readonly name: string; readonly kind: string }[];
  }
  class Instance {
    constructor(module: Module, imports?: Imports);
    readonly exports: { readonly [name: string]: unknown };
  }
  class Memory {
    constructor(limits: { readonly initial: number; readonly maximum?: number; readonly shared?: boolean });
    readonly buffer: ArrayBuffer;
    grow(pages: number): number;
  }
  class Table {
    readonly length: number;
    grow(entries: number, value?: unknown): number;
  }
  class Global {}
  class Tag {}
  class Exception {}
  class RuntimeError extends Error {}
  class CompileError extends Error {}
  class LinkError extends Error {}
}
