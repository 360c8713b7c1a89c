import type { NodeModule } from "./inner/library.ts";

/** `node:vm`: code of this realm. Other realms do not exist. */
// oxlint-disable-next-line no-eval
const evaluate = globalThis.eval;

export const shared: NodeModule = {
  runInThisContext: (code: unknown) => evaluate(String(code as string)) as unknown,
  isContext: () => false,
};
