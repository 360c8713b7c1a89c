import type * as Ajv from "ajv";
import { createRequire } from "node:module";
import type * as DataTypes from "ajv/dist/compile/validate/dataType.js";

/* ajv, loaded with the first schema that is compiled: it takes as long as the rest of an engine's modules. */

const require = createRequire(import.meta.url);
let loaded: typeof Ajv | undefined;

export function ajv(): typeof Ajv {
  return (loaded ??= require("ajv") as typeof Ajv);
}

/** The tags of ajv's templates of code. */
export const _: typeof Ajv._ = (strings, ...values) => ajv()._(strings, ...values);
export const str: typeof Ajv.str = (strings, ...values) => ajv().str(strings, ...values);

export function dataTypes(): typeof DataTypes {
  return require("ajv/dist/compile/validate/dataType.js") as typeof DataTypes;
}

/** Writes the code of a validator as text. */
export function standaloneCode(compiler: Ajv.Ajv, validate: Ajv.ValidateFunction): string {
  const write = require("ajv/dist/standalone/index.js") as (...given: [Ajv.Ajv, Ajv.ValidateFunction]) => string;
  return write(compiler, validate);
}

/** A compiler of a dialect that few schemas have. */
export function ajvOf(dialect: "2019" | "2020", options: Ajv.Options): Ajv.Ajv {
  // In two steps: TypeScript 7 leaves out the parentheses of `new (require(…) as …).Name()`, which then calls `require`.
  if (dialect === "2019") {
    const { Ajv2019 } = require("ajv/dist/2019.js") as typeof import("ajv/dist/2019.js");
    return new Ajv2019(options);
  }
  const { Ajv2020 } = require("ajv/dist/2020.js") as typeof import("ajv/dist/2020.js");
  return new Ajv2020(options);
}
