/** Not imported: Node would evaluate all that its module exports, undici with it, in 40 ms of each start. */
const { STATUS_CODES } = process.getBuiltinModule("node:http");

/** Media type of errors that are not results. */
export const PROBLEM_TYPE = "application/problem+json; charset=utf-8";

/** An error that is not a result: problem details of RFC 9457, in addition to `error`, which older clients read. */
export interface Problem<T> {
  /** No type of its own: the status defines it. */
  readonly type: "about:blank";
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly error: T;
}

export function problem<T>(status: number, detail: string, error: T): Problem<T> {
  return { type: "about:blank", title: STATUS_CODES[status] ?? "Error", status, detail, error };
}
