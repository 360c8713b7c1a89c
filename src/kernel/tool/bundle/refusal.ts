import type { OnResolveResult } from "esbuild";

/** Answers of the bundler's plugin to an import that it refuses. No text has a path of the host. */

/** An import that is refused, for its author. */
export class RefusalError extends Error {
  override readonly name = "RefusalError";
}

export interface Refusal {
  errors: { text: string }[];
}

export function refusal(text: string): Refusal {
  return { errors: [{ text }] };
}

/** The refusal of an import, with the reason. */
export function refusedImport(specifier: string, why: string): Refusal {
  return refusal(`imports ${quoted(specifier)}, ${why}`);
}

/** The reason why a tool without a project may not import a file outside its folder. */
export const OUTSIDE = "which leads out of the tool's folder; import only files inside it, and packages";

/** The entry of this package with the engine, which no tool contains. */
export const ENGINE_ENTRY = "glovebox";
export const IS_PROGRAM =
  'which runs tools and is no part of one; if this is a program that calls tools, run it with node, and if it is a tool, import "glovebox/tool", and types with import type';

export function noFolder(specifier: string): OnResolveResult {
  const what = `imports ${quoted(specifier)}, but a tool given as text has no folder to import from`;
  return refusal(`${what}; put it into a file and register that`);
}

/** File system errors contain paths of the host, so they are not reported. */
export function unreadable(error: unknown, name: string): Refusal {
  if (error instanceof RefusalError) return refusal(error.message);
  if (!(error instanceof Error) || !("syscall" in error)) throw error;
  return refusedImport(name, "which cannot be read; check its file and its rights");
}

function quoted(specifier: string): string {
  return JSON.stringify(specifier.length > 200 ? `${specifier.slice(0, 200)}…` : specifier);
}
