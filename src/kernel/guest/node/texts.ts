import punycode from "unenv/node/punycode";
import querystring from "unenv/node/querystring";
import type { NodeModule } from "./inner/library.ts";
import { thrown } from "./inner/errors.ts";
import { StringDecoder } from "./inner/string-decoder.ts";

/** Small modules for texts: `node:string_decoder`, `node:querystring` and `node:punycode`. */
export const modules: { readonly [name: string]: NodeModule } = {
  string_decoder: { StringDecoder },
  querystring: { ...querystring },
  punycode: { ...punycode },
};

export function samples(): readonly unknown[] {
  // The package throws an error of a class that it does not export.
  return [StringDecoder, thrown(() => (querystring["escape"] as (text: string) => string)("\ud800"))];
}

export const hidden = [modules];
