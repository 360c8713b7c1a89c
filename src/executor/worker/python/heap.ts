/** V8's heap beside an interpreter's own memory, in MiB: what the interpreter itself needs of it is about a third. */
export const PYTHON_HEAP_MB = 96;
