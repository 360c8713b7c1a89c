import type { FastifyError, FastifyInstance, FastifyReply } from "fastify";
import type { RequestFailure } from "../../kernel/engine/telemetry/events.ts";

declare module "fastify" {
  interface FastifyInstance {
    /** Receives requests that were answered with 500. */
    tellFailure?: (failure: RequestFailure) => void;
  }
}

const TEXT_MAX = 4_000;

/** Answers requests of a scope whose handlers throw, and reports those that are answered with 500. */
export function answerErrors(
  scope: FastifyInstance,
  answer: (reply: FastifyReply, error: FastifyError) => FastifyReply,
): void {
  scope.setErrorHandler((error: FastifyError, { method, routeOptions }, reply) => {
    const answered = answer(reply, error);
    if (reply.statusCode === 500) {
      const { message, stack = "" } = errorOf(error);
      const places = stack.slice(Math.max(0, stack.indexOf("\n    at ")));
      const told = { reason: message.slice(0, TEXT_MAX), stack: places.trim().slice(0, TEXT_MAX) };
      scope.tellFailure?.({ method, route: routeOptions.url ?? "", ...told });
    }
    return answered;
  });
}

/** The error of any thrown value. */
function errorOf(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}
