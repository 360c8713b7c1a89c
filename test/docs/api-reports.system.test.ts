import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { apiReports } from "../../docs/generate/api-reports.ts";

const ETC = path.resolve(import.meta.dirname, "../../etc");

test("the reports of the public API are those of the sources: npm run docs:api writes them", () => {
  const reports = apiReports();
  expect(readdirSync(ETC).toSorted()).toEqual([...reports.keys()].toSorted());
  for (const [name, text] of reports) expect(readFileSync(path.join(ETC, name), "utf8"), name).toBe(text);
});
