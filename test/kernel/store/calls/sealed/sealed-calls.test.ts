import fc from "fast-check";
import { expect, test } from "vitest";
import { PARTS } from "../../../../../src/kernel/store/calls/sealed/call-rows.ts";
import { PrivateTables, type StepView } from "../../../../../src/kernel/store/calls/sealed/private-tables.ts";
import {
  type ClosedCall,
  SealedCalls,
  type SealedParts,
} from "../../../../../src/kernel/store/calls/sealed/sealed-calls.ts";
import { Seal, SealError } from "../../../../../src/kernel/store/seal.ts";
import { DEFAULT_DURABLE } from "../../../../../src/kernel/store/calls/durable/durable-call.ts";
import type { DurableStep } from "../../../../../src/kernel/store/calls/durable/durable-step.ts";
import { APPROVAL, stepsOf } from "../durable/suite.ts";

/* The sealed parts of a call open as they were written, and not at all otherwise. */

const CALLS = new SealedCalls(Seal.of("a secret of the fleet"), "{p}");
const NO_BOOKS = { calls: 0, bytes: 0, ended: 0, endedBytes: 0 };
const EMPTY: StepView = { calls: [], tenant: "", books: NO_BOOKS, script: null };

/** A call that waits, as it is written in a version of it. */
async function stored(id: string, version: string): Promise<SealedParts> {
  const tables = new PrivateTables(DEFAULT_DURABLE);
  let sealed: Partial<ClosedCall> = {};
  const take = (step: DurableStep) => {
    const { answer, changed } = tables.take(step, EMPTY);
    const [call] = changed;
    if (call !== undefined) sealed = CALLS.close(call, version, undefined);
    return answer;
  };
  await stepsOf({ take }).pause(id, [APPROVAL], { journal: '{"asks":[{"capability":"pay"}],"answers":[]}' });
  tables.close();
  const { head = "", body, run } = sealed;
  return { id, version, head, body: body ?? "", run: run ?? "" };
}

const CALL = await stored("c_1", "v1");
const opened = (call: SealedParts): unknown => CALLS.open(call).parts;

test("a call opens as it was written, with its waits and its journal", () => {
  const { head, body, run } = CALLS.open(CALL).parts;
  expect(head).toContain('"durable_wait":[{');
  expect(body).toContain('\\"capability\\":\\"pay\\"');
  expect(run).toContain('"runs":"{}"');
});

test.each(PARTS)("each byte of the sealed %s that is changed, dropped or put in is found", (part) => {
  const text = CALL[part];
  const others = ["A", "b", "7", "+", "-", "/", "_", "=", " ", "\n", "\u00e9"];
  for (let at = 0; at < text.length; at++) {
    const [before, after] = [text.slice(0, at), text.slice(at + 1)];
    const other = others[at % others.length] ?? "";
    const changed = [before + after, `${before}${other}${text.slice(at)}`, text.slice(0, at)];
    if (other !== text[at]) changed.push(before + other + after);
    // An empty one was not asked for.
    for (const each of changed.filter((one) => one !== ""))
      expect(() => opened({ ...CALL, [part]: each }), `${at}: ${each}`).toThrow(SealError);
  }
});

test("bytes that are moved within a part are found", () => {
  const place = fc.nat();
  fc.assert(
    fc.property(fc.constantFrom(...PARTS), place, place, place, (part, first, second, third) => {
      const text = CALL[part];
      const [from = 0, end = 0, to = 0] = [first, second, third]
        .map((at) => at % (text.length + 1))
        .toSorted((left, right) => left - right);
      const moved = text.slice(0, from) + text.slice(end, to) + text.slice(from, end) + text.slice(to);
      fc.pre(moved !== text);
      expect(() => opened({ ...CALL, [part]: moved })).toThrow(SealError);
    }),
  );
});

test("a part in the place of another, of another call, or of another version is found", async () => {
  const others = [CALL, await stored("c_2", "v1"), await stored("c_1", "v2")];
  for (const part of PARTS)
    for (const other of others)
      for (const from of PARTS)
        if (other[from] !== CALL[part]) expect(() => opened({ ...CALL, [part]: other[from] })).toThrow(SealError);
});

test("a script in the place of another is found, and so is a changed one", () => {
  const sealed = CALLS.closeScript("h", "the script");
  expect(CALLS.openScript("h", sealed)).toBe("the script");
  expect(() => CALLS.openScript("other", sealed)).toThrow(SealError);
  for (let at = 0; at < sealed.length; at++)
    expect(() => CALLS.openScript("h", sealed.slice(0, at) + sealed.slice(at + 1))).toThrow(SealError);
});
