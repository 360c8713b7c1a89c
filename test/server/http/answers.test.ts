import { expect, test } from "vitest";
import { answerOf, answerToError, refusal } from "../../../src/server/http/answers.ts";

test.each([
  ["queue_timeout", undefined, 503, "1"],
  ["queue_full", { retryAfterMs: 1_500 }, 429, "2"],
  ["store_failed", undefined, 503, "1"],
  ["engine_closed", undefined, 503, undefined],
  ["forbidden", undefined, 403, undefined],
  ["capability_failed", undefined, 200, undefined],
] as const)("the code %s with %j has the status %i and Retry-After: %s", (code, details, status, after) => {
  const answer = answerOf(refusal(code, "no", { details }));
  expect({ status: answer.status, after: answer.headers["retry-after"] }).toEqual({ status, after });
});

test("an error of our own is told as problem details, without a word about it", () => {
  const { status, parts, type } = answerToError(new Error("in /src/secret.ts"), 1_000);
  expect({ status, type }).toEqual({ status: 500, type: "application/problem+json; charset=utf-8" });
  const detail = "the request could not be answered";
  const title = "Internal Server Error";
  expect(JSON.parse(parts.join(""))).toEqual({ type: "about:blank", title, status: 500, detail, error: detail });
});
