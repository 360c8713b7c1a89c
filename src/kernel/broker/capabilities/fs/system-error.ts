import { getSystemErrorMap } from "node:util";
import { errnoOf } from "../../../base/errno.ts";

/** Error of the system, as sent to the tool: with the tool's own paths, never the host's. */
export interface SystemFailure {
  readonly code: string;
  readonly message: string;
  readonly syscall: string;
  readonly path: string;
  readonly dest?: string;
}

/** Name and arguments of the failed operation, as the tool wrote them. */
export interface FailedOperation {
  readonly syscall: string;
  readonly path: string;
  readonly dest?: string;
}

/** Maximum length of a path in an error, in characters: the maximum length of a path. */
const PATH_SHOWN = 4_096;

const MESSAGES: ReadonlyMap<string, string> = new Map(getSystemErrorMap().values());

/** Thrown in place of an error that the system would report, for example for a path that leads through a file. */
export class SystemError extends Error {
  override readonly name = "SystemError";
  readonly code: string;

  constructor(code: string) {
    super(code);
    this.code = code;
  }
}

/** Code of an error of the system, such as `ENOENT`; `null` for any other error. */
export function codeOf(error: unknown): string | null {
  const code = errnoOf(error);
  return code !== undefined && MESSAGES.has(code) ? code : null;
}

/** Describes the failure in Node's wording. */
export function describeFailure(code: string, subject: FailedOperation): SystemFailure {
  const { syscall } = subject;
  const path = subject.path.slice(0, PATH_SHOWN);
  const dest = subject.dest?.slice(0, PATH_SHOWN);
  const to = dest === undefined ? "" : ` -> '${dest}'`;
  const message = `${code}: ${MESSAGES.get(code) ?? "unknown error"}, ${syscall} '${path}'${to}`;
  return { code, message, syscall, path, ...(dest === undefined ? {} : { dest }) };
}
