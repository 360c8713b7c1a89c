import { test } from "vitest";
import { expectArea } from "./area.ts";
import { QUERY_DEEDS, QUERY_TEXTS } from "./data/search-params.ts";
import { expectDeeds } from "./deeds.ts";

test("queries are parsed and written as the URL Standard says", async () => {
  const cases = QUERY_TEXTS.map(([text, entries, written]) => ({
    name: JSON.stringify(text),
    input: text,
    expected: [entries, written],
  }));
  await expectArea("query", "(text) => { const p = new URLSearchParams(text); return [[...p], `${p}`]; }", cases);
});

test("parameters do what the URL Standard says", async () => {
  await expectDeeds("search params", QUERY_DEEDS);
});
