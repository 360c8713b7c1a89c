/**
 * Defers the part of Pyodide's start that prepares libraries of machine code, which few tools load, to the load of the
 * first one. That is most of a start: a place in a table, an object and a property for each of 8,500 symbols.
 *
 * A start from a snapshot has to fill the table of functions as the start before the snapshot did, so both use this
 * code.
 */

/**
 * One replacement. If its text is not found exactly once, Pyodide's code stays unchanged, and its start takes longer.
 */
interface Edit {
  readonly text: string;
  readonly by: string;
}

/** Edits that belong together: all of them, or none. */
type Change = readonly Edit[];

/** No address for each exported function: those in the table from the beginning are all that Python's own code uses. */
const NO_ADDRESSES: Change = [{ text: "updateGOT(origExports);", by: "" }];

/** A function that is new in the table is not searched there; `dlsym` still searches. */
const NO_SEARCH: Change = [
  {
    text: "addFunction=(func,sig)=>{var rtn=getFunctionAddress(func);",
    by: "addFunction=(func,sig)=>{var rtn=functionsInTableMap?.get(func);",
  },
  { text: "functionsInTableMap.set(func,ret);", by: "functionsInTableMap?.set(func,ret);" },
  { text: "functionsInTableMap.delete(", by: "functionsInTableMap?.delete(" },
];

/** No module of WebAssembly for each of the 270 functions of WebGL, which need a canvas. */
const NO_GRAPHICS: Change = [
  {
    text: "if(entry.value==-1){var value=resolveGlobalSymbol(symName,true).sym;",
    by: 'if(symName.startsWith("emscripten_gl")){entry.value=0}else if(entry.value==-1){var value=resolveGlobalSymbol(symName,true).sym;',
  },
];

/** The symbols that `dlsym` finds are gathered when it is first called, or Python's own start begins. */
const LATE_SYMBOLS: Change = [
  {
    text: 'mergeLibSymbols(wasmExports,"main");',
    by: 'LDSO.gather=()=>mergeLibSymbols(origExports,"main");',
  },
  {
    text: 'init(){newDSO("__main__",0,wasmImports)}',
    by: 'init(){Object.defineProperty(newDSO("__main__",0,wasmImports),"exports",{get:()=>{LDSO.gather?.();LDSO.gather=null;return wasmImports}})}',
  },
  {
    text: 'var entryFunction=resolveGlobalSymbol("main").sym;',
    by: 'LDSO.loadedLibsByName.__main__.exports;var entryFunction=resolveGlobalSymbol("main").sym;',
  },
];

/**
 * A library is a module that the engine has compiled. The first one defines all symbols, with the existing addresses of
 * functions: Python compares some of them.
 */
const LIBRARIES: Change = [
  {
    text: "libName=PATH.normalize(libName);var dso=LDSO.loadedLibsByName[libName];",
    by: "LDSO.gather?.();LDSO.gather=null;getFunctionAddress(loadDynamicLibrary);libName=PATH.normalize(libName);var dso=LDSO.loadedLibsByName[libName];",
  },
  {
    text: 'if(f){var libData=FS.readFile(f,{encoding:"binary"});',
    by: "if(f){var libData=__library(f);",
  },
  {
    text: "if(runtimeInitialized){return _calloc(size,1)}",
    by: 'if(runtimeInitialized){var at=_calloc(size,1);if(!at)throw new Error("there is no memory left for it");return at}',
  },
];

/** A library that could not be loaded is not in the way of the next one. */
const FORGOTTEN: Change = [
  {
    text: "else if(!value){throw new Error(`Dynamic linking error: undefined symbol '${symName}'`)}",
    by: "else if(!value){delete GOT[symName];throw new Error(`undefined symbol '${symName}'`)}",
  },
  {
    text: "moduleLoaded(getExports());return true}",
    by: "try{moduleLoaded(getExports())}catch(e){delete LDSO.loadedLibsByName[libName];throw e}return true}",
  },
];

const CHANGES: readonly Change[] = [NO_ADDRESSES, NO_SEARCH, NO_GRAPHICS, LATE_SYMBOLS, LIBRARIES, FORGOTTEN];

/** The variables of all exports, and the function that sets them. */
const EXPORTS = /var ([\w$,]+);function assignWasmExports\(wasmExports\)\{([^{}]*)\}/;
/** An export that only has a variable and a property of the module. */
const PLAIN = /^([\w$]+)=(?:Module\["[\w$]+"\]=)?wasmExports\["[\w$]+"\](?:\.value>>>0)?$/;
const COPY = "Object.assign({},wasmExports)";

/**
 * Pyodide's code for a start; `others` is the rest of it, which may use definitions of this part. `left`: number of
 * changes that do not match this version of Pyodide.
 */
export function leanPyodide(code: string, others: string): { readonly code: string; readonly left: number } {
  let left = 0;
  let lean = withUsedExports(code, others);
  if (lean === code) left++;
  for (const change of [...CHANGES, shortCopyOf(lean)]) {
    if (change.every(({ text }) => lean.split(text).length === 2)) {
      for (const { text, by } of change) lean = lean.replace(text, () => by);
    } else left++;
  }
  return { code: lean, left };
}

/** Removes variables and properties of exports that are not used elsewhere: some 4,700 of 4,900. */
function withUsedExports(code: string, others: string): string {
  const [all, names = "", assignments = ""] = EXPORTS.exec(code) ?? [];
  if (all === undefined) return code;
  const mentioned = new Set(`${code.replace(all, () => "")}\n${others}`.match(/[\w$]+/g));
  const isUnused = (name: string | undefined): boolean => name !== undefined && !mentioned.has(name);
  const kept = assignments.split(";").filter((one) => !isUnused(PLAIN.exec(one)?.[1]));
  const variables = names
    .split(",")
    .filter((name) => kept.some((one) => one.startsWith(`${name}=`)) || !isUnused(name));
  const used = `var ${variables.join(",")};function assignWasmExports(wasmExports){${kept.join(";")}}`;
  return code.replace(all, () => used);
}

/** The exports are copied in order to wrap some: the copy has those that the code uses. */
function shortCopyOf(code: string): Change {
  const names = [...code.matchAll(/wasmExports(?:\["([^"]+)"\]|\.(\w+))/g)].map(([, one, other = ""]) => one ?? other);
  const picked = [...new Set(names)].map((name) => `${JSON.stringify(name)}:wasmExports[${JSON.stringify(name)}]`);
  return [{ text: COPY, by: `{${picked.join(",")}}` }];
}
