import { isErrorCode } from "../errors.ts";
import type { Failure } from "./messages.ts";
import { ProtocolError } from "./wire.ts";

/** A payload is read before anything is done with it: a worker that sends nonsense must not cost a call its answer. */
export function readJson(payload: string): unknown {
  try {
    return JSON.parse(payload);
  } catch {
    throw new ProtocolError("a message with a payload that is not JSON");
  }
}

export function readFailure(payload: string): Failure {
  const failure = readJson(payload);
  if (typeof failure === "object" && failure !== null && "code" in failure && "message" in failure) {
    if (isErrorCode(failure.code) && typeof failure.message === "string") return failure as Failure;
  }
  throw new ProtocolError("a message with a failure that is none");
}
