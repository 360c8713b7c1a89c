import type { ExecuteOptions } from "../../engine/execute-options.ts";

/** A string of structured fields: in quotes, with `\"` and `\\` for those two. */
const QUOTED = /^"((?:[ !#-[\]-~]|\\["\\])*)"$/;
/** What most clients send: a word. What a list would have between its members is in none. */
const WORD = /^[!#-+\--:<-~]+$/;
const DIFFERENT = "the header Idempotency-Key and options.idempotencyKey are not the same";

/**
 * A call's options with the key that its request's header has, in quotes or without; or what is wrong with it. What the
 * key may be, the engine says.
 */
export function withHeaderKey(options: ExecuteOptions, header: string | string[] | undefined): ExecuteOptions | string {
  if (header === undefined) return options;
  const key = typeof header === "string" ? readKey(header.trim()) : undefined;
  if (key === undefined) return 'the header Idempotency-Key is one word, or text in quotes: "8e03978e-40d5"';
  const { idempotencyKey = key } = options;
  return idempotencyKey === key ? { ...options, idempotencyKey } : DIFFERENT;
}

function readKey(header: string): string | undefined {
  const quoted = QUOTED.exec(header)?.[1];
  if (quoted !== undefined) return quoted.replaceAll(/\\(.)/g, "$1");
  return WORD.test(header) ? header : undefined;
}
