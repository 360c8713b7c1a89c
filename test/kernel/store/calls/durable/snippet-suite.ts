import { expect, test } from "vitest";
import type { DurableAnswer } from "../../../../../src/kernel/store/calls/durable/durable-step.ts";
import {
  SNIPPETS_CHARS,
  SNIPPETS_MAX,
  SNIPPETS_OF_TENANT,
  type SnippetStep,
} from "../../../../../src/kernel/store/calls/durable/snippet-tables.ts";

/* Snippets in each place where they are kept. */

type Take = (step: SnippetStep) => DurableAnswer | Promise<DurableAnswer>;

const save = (tenant: string, name: string, text: string, revision = `${tenant} ${name} ${text.slice(0, 99)}`) =>
  ({ kind: "save", snippet: { tenant, name, text }, revision }) as const;
const DONE = { kind: "done", call: null };

/** Declares the tests of a place. `open` gives an empty one. */
export function describeSnippets(open: () => Take): void {
  test("snippets are read once, and again when one of them has changed", async () => {
    const take = open();
    const empty = await take({ kind: "snippets", known: null });
    expect(empty).toMatchObject({ kind: "snippets", snippets: [] });
    expect(await take(save("acme", "one", "1", "first"))).toEqual(DONE);
    expect(await take(save("other", "one", "2", "second"))).toEqual(DONE);
    const both = [
      { tenant: "acme", name: "one", text: "1" },
      { tenant: "other", name: "one", text: "2" },
    ];
    const read = await take({ kind: "snippets", known: "first" });
    expect(read).toMatchObject({ kind: "snippets", revision: "second", snippets: expect.arrayContaining(both) });
    const again = { kind: "snippets", revision: "second", snippets: null };
    expect(await take({ kind: "snippets", known: "second" })).toEqual(again);
    expect(await take({ kind: "drop", tenant: "acme", name: "two", revision: "third" })).toEqual({ kind: "missing" });
    expect(await take({ kind: "snippets", known: "second" })).toEqual(again);
    expect(await take({ kind: "drop", tenant: "acme", name: "one", revision: "third" })).toEqual(DONE);
    const left = await take({ kind: "snippets", known: "second" });
    expect(left).toEqual({ kind: "snippets", revision: "third", snippets: both.slice(1) });
  });

  test("a tenant and a store have room for so many snippets, and for so much text", async () => {
    const take = open();
    for (let n = 0; n < SNIPPETS_OF_TENANT; n++) await take(save("acme", `s${n}`, "x"));
    expect(await take(save("acme", "more", "x"))).toEqual({ kind: "full", bound: "a tenant may have 200 snippets" });
    expect(await take(save("acme", "s7", "another text"))).toEqual(DONE);
    for (let n = SNIPPETS_OF_TENANT; n < SNIPPETS_MAX; n++) await take(save(`tenant ${n}`, "s", "x"));
    expect(await take(save("last", "s", "x"))).toEqual({ kind: "full", bound: "a store may have 1000 snippets" });
  });

  test("the texts of a store have a bound together", async () => {
    const take = open();
    const bound = `the snippets of a store may have ${SNIPPETS_CHARS} characters`;
    const text = "x".repeat(SNIPPETS_CHARS / 8);
    let answer = await take(save("acme", "0", text));
    for (let n = 1; n < 20 && answer.kind === "done"; n++) answer = await take(save("acme", `${n}`, text));
    expect(answer).toEqual({ kind: "full", bound });
  });
}
