import { test } from "vitest";
import { expectArea } from "./area.ts";
import { CLONED, DEEDS, REFUSED } from "./data/structured-clone.ts";
import { expectDeeds } from "./deeds.ts";

/** Shows a value with its kind and all that a clone has to keep. */
const SHOW = `function show(value) {
  const kind = Object.prototype.toString.call(value) + Object.prototype.toString.call(Object.getPrototypeOf(Object(value)));
  if (typeof value !== "object" || value === null) return typeof value + (Object.is(value, -0) ? "-0" : String(value));
  const own = Object.keys(value).map((key) => key + ":" + show(value[key]));
  if (Error.isError(value)) return [kind, value.name, value.message, Object.hasOwn(value, "message"), "cause" in value && show(value.cause)].join();
  const inner = value instanceof Date ? value.getTime()
    : value instanceof RegExp ? String(value) + value.lastIndex
    : value instanceof Map ? [...value].map(([k, v]) => show(k) + show(v)).join()
    : value instanceof Set ? [...value].map(show).join()
    : value instanceof ArrayBuffer ? [...new Uint8Array(value)].join()
    : ArrayBuffer.isView(value) ? [value.byteOffset, value.byteLength, ...new Uint8Array(value.buffer)].join()
    : [Boolean, Number, String, BigInt].some((Class) => value instanceof Class) ? show(value.valueOf())
    : Array.isArray(value) ? value.length : "";
  return [kind, inner, own.join(";")].join("|");
}`;

test("values are cloned as the HTML Standard says", async () => {
  const makers = CLONED.map((text) => `() => (${text})`).join(",\n");
  const answer = `(() => { ${SHOW}; const makers = [${makers}]; return (index) => {
    const value = makers[index]();
    const clone = structuredClone(value);
    const isNew = typeof value !== "object" || value === null || clone !== value;
    return isNew && show(clone) === show(value) ? "same" : [show(value), show(clone)];
  }; })()`;
  const cases = CLONED.map((name, input) => ({ name, input, expected: "same" }));
  await expectArea("structured clone", answer, cases);
});

test("what has state of its own is refused", async () => {
  await expectDeeds(
    "structured clone refusals",
    REFUSED.map((text) => [`structuredClone(${text})`, "throws DataCloneError"]),
  );
});

test("clones keep what the HTML Standard says, and nothing else", async () => {
  await expectDeeds("structured clone deeds", DEEDS);
});
