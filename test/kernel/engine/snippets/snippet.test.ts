import { expect, test } from "vitest";
import { parseForWriting } from "../../../../src/kernel/base/exact-json.ts";
import {
  type KeptSnippet,
  readStored,
  schemaLike,
  schemaOfOutput,
  storedOf,
} from "../../../../src/kernel/engine/snippets/snippet.ts";

test("a snippet that an earlier version has stored is read, without a schema of its output", () => {
  const { text, ...place } = storedOf({ format: "glovebox-snippet/1", name: "old", tenant: "" } as KeptSnippet);
  expect(text).not.toContain("inferredOutputSchema");
  expect(readStored({ ...place, text })).toMatchObject({ name: "old", inferredOutputSchema: null });
});

test("a stored snippet is read as it was saved", () => {
  const saved = { format: "glovebox-snippet/1", name: "a", tenant: "", inferredOutputSchema: {}, author: null };
  expect(JSON.stringify(readStored(storedOf(saved as KeptSnippet)))).toBe(JSON.stringify(saved));
});

test("a long integer is an integer, and what was redacted may be anything", () => {
  const value = parseForWriting('{"id":12345678901234567890,"name":"[redacted]","tags":["a","[redacted]"]}');
  expect(schemaLike(value)).toEqual({
    type: "object",
    properties: { id: { type: "integer" }, name: {}, tags: { type: "array" } },
    required: ["id", "name", "tags"],
  });
});

test("an output of very many members has no schema, so that its snippet can be saved", () => {
  const members = (count: number, value: unknown) =>
    Object.fromEntries(Array.from({ length: count }, (_, at) => [`member ${at}`, value]));
  expect(schemaOfOutput({ value: members(50, 1) })).toMatchObject({ type: "object" });
  expect(schemaOfOutput({ value: members(50, members(50, 1)) })).toBeNull();
});
