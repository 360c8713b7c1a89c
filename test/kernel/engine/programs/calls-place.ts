import type { CallOptions } from "../../../../src/glovebox/index.ts";

/** Where processes keep calls together, as an argument has it: a file, or `redis://HOST:PORT#FLEET`. */
export function placeOf(text: string): Pick<CallOptions, "path" | "url" | "fleet" | "secret"> {
  const [url = "", fleet] = text.split("#");
  return fleet === undefined ? { path: text } : { url, fleet, secret: "a secret of the fleet" };
}
