import { expect, test } from "vitest";
import { leanPyodide } from "../../src/python/runtime/lean-pyodide.ts";

const EXPORTS =
  'var _used,_unused,_elsewhere,table;function assignWasmExports(wasmExports){_used=Module["_used"]=wasmExports["used"];' +
  '_unused=Module["_unused"]=wasmExports["unused"];_elsewhere=Module["_elsewhere"]=wasmExports["elsewhere"];' +
  'table=Module["table"]=wasmTable=wasmExports["table"]}_used();';

test("an export that nothing else mentions has neither a variable nor a property", () => {
  const { code } = leanPyodide(EXPORTS, "module._elsewhere");
  expect(code).toBe(
    'var _used,_elsewhere,table;function assignWasmExports(wasmExports){_used=Module["_used"]=wasmExports["used"];' +
      '_elsewhere=Module["_elsewhere"]=wasmExports["elsewhere"];table=Module["table"]=wasmTable=wasmExports["table"]}_used();',
  );
});

test("a copy of the exports has those that the code mentions", () => {
  const { code } = leanPyodide('wasmExports=Object.assign({},wasmExports);wasmExports["one"]();wasmExports.two();', "");
  expect(code).toBe(
    'wasmExports={"one":wasmExports["one"],"two":wasmExports["two"]};wasmExports["one"]();wasmExports.two();',
  );
});

test("a change whose text is there twice, or in part, is not made", () => {
  const code = 'updateGOT(origExports);updateGOT(origExports);mergeLibSymbols(wasmExports,"main");';
  expect(leanPyodide(code, "")).toEqual({ code, left: 8 });
});
