import { getSystemErrorMap } from "node:util";

/** What the system said, as it crosses to the tool: with the tool's own paths, never the host's. */
export interface SystemFailure {
  readonly code: string;
  readonly message: string;
  readonly syscall: string;
  readonly path: string;
  readonly dest?: string;
}

/** What an operation was called with, in the tool's words. */
export interface FailedOperation {
  readonly syscall: string;
  readonly path: string;
  readonly dest?: string;
}

/** Longest path that is said again, in characters: the longest that there can be. */
const PATH_SHOWN = 4_096;

const MESSAGES: ReadonlyMap<string, string> = new Map(getSystemErrorMap().values());

/** Thrown where the system would say so, too: a path that leads through a file, for example. */
export class SystemError extends Error {
  override readonly name = "SystemError";
  readonly code: string;

  constructor(code: string) {
    super(code);
    this.code = code;
  }
}

/** The code of an error that the system gave, such as `ENOENT`; nothing for every other error. */
export function codeOf(error: unknown): string | null {
  if (!(error instanceof Error) || !("code" in error) || typeof error.code !== "string") return null;
  return MESSAGES.has(error.code) ? error.code : null;
}

/** The failure as Node words it. */
export function describeFailure(code: string, subject: FailedOperation): SystemFailure {
  const { syscall } = subject;
  const path = subject.path.slice(0, PATH_SHOWN);
  const dest = subject.dest?.slice(0, PATH_SHOWN);
  const to = dest === undefined ? "" : ` -> '${dest}'`;
  const message = `${code}: ${MESSAGES.get(code) ?? "unknown error"}, ${syscall} '${path}'${to}`;
  return { code, message, syscall, path, ...(dest === undefined ? {} : { dest }) };
}
