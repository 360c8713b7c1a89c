import { expect, test } from "vitest";
import { DOMException as Ours, QuotaExceededError } from "../../../../src/kernel/guest/web/dom-exception.ts";
import { inIsolate } from "./in-isolate.ts";

test("it is an error with a name, a message, and the legacy code of the name", () => {
  const error = new Ours("gone", "NotFoundError");
  expect(error).toBeInstanceOf(Error);
  expect([error.name, error.message, error.code]).toEqual(["NotFoundError", "gone", 8]);
  expect(String(error)).toBe("NotFoundError: gone");
  expect(Object.keys(error)).toEqual([]);
});

test("without arguments it is an Error without a message", () => {
  const error = new Ours();
  expect([error.name, error.message, error.code]).toEqual(["Error", "", 0]);
});

test("names without a legacy code have the code 0", () => {
  expect(new Ours("", "OperationError").code).toBe(0);
  expect(new Ours("", "").code).toBe(0);
  expect(new Ours("", "toString").code).toBe(0);
});

test("codes and constants are those of Node's own class", () => {
  const names = Object.keys(DOMException);
  expect(names.length).toBe(25);
  for (const name of names) {
    expect(Reflect.get(Ours, name)).toBe(Reflect.get(DOMException, name));
    expect(Reflect.get(Ours.prototype, name)).toBe(Reflect.get(DOMException, name));
  }
  for (const name of ["AbortError", "DataCloneError", "InvalidCharacterError", "QuotaExceededError", "TimeoutError"]) {
    expect(new Ours("", name).code).toBe(new DOMException("", name).code);
  }
});

test("it takes a cause", () => {
  const error = new Ours("m", { name: "DataError", cause: 5 });
  expect([error.name, error.cause]).toEqual(["DataError", 5]);
});

test("its stack begins with its name, also in a frozen isolate", async () => {
  const stack = await inIsolate(`return new DOMException("gone", "AbortError").stack;`, { frozen: true });
  expect(stack).toMatch(/^AbortError: gone\n {4}at /);
});

test("its name, message and code are members of the prototype, and of exceptions only", () => {
  const error = new Ours("gone", "AbortError");
  expect(Object.hasOwn(error, "message")).toBe(false);
  Object.defineProperty(error, "name", { value: "NotFoundError" });
  expect(error.code).toBe(20);
  for (const key of ["name", "message", "code"]) expect(() => Reflect.get(Ours.prototype, key)).toThrow(TypeError);
  for (const key of ["name", "message", "code"]) {
    expect(() => Reflect.get(Ours.prototype, key, Object.create(Ours.prototype))).toThrow(TypeError);
  }
});

test("a QuotaExceededError says what there is and what was wanted", () => {
  const error = new QuotaExceededError("full", { quota: 10, requested: 20 });
  expect(error).toBeInstanceOf(Ours);
  expect([error.name, error.code, error.message, error.quota, error.requested]).toEqual([
    "QuotaExceededError",
    22,
    "full",
    10,
    20,
  ]);
  expect([new QuotaExceededError().quota, new QuotaExceededError("", { requested: 1 }).requested]).toEqual([null, 1]);
  expect(() => new QuotaExceededError("", { quota: -1 })).toThrow(RangeError);
  expect(() => new QuotaExceededError("", { quota: 2, requested: 1 })).toThrow(RangeError);
  expect(() => new QuotaExceededError("", { quota: Number.NaN })).toThrow(TypeError);
});
