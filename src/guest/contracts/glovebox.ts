import type { Adapter, ToolFunction } from "./adapter.ts";

/** Our own: `export const spec`, and a default export that takes the arguments and the context. */
export const gloveboxAdapter: Adapter = {
  name: "glovebox",
  matches: (exports) => typeof exports["default"] === "function",
  describe: () => null,
  open: (exports) => {
    const tool = exports["default"];
    if (typeof tool !== "function") throw new TypeError("the module's default export is not a function");
    return tool as ToolFunction;
  },
};
