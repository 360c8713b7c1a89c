import { expect, test } from "vitest";
import { indexFile, serveIndex } from "../python/index-server.ts";
import { hasZones } from "../../src/python/runtime/zones.ts";
import { runExample } from "./run-example.ts";

/** What the example uses of the package, as no test has a network. */
const EASTER = `
from datetime import date

def easter(year):
    a, b, c = year % 19, year // 100, year % 100
    h = (19 * a + b - b // 4 - (b - (b + 8) // 25 + 1) // 3 + 15) % 30
    l = (32 + 2 * (b % 4) + 2 * (c // 4) - h - c % 4) % 7
    m = (a + 11 * h + 22 * l) // 451
    month, day = divmod(h + l - 7 * m + 114, 31)
    return date(year, month, day + 1)
`;

test.skipIf(!hasZones())(
  "the example python-wheels prints what its README says",
  async () => {
    const dateutil = { "dateutil/__init__.py": "", "dateutil/easter.py": EASTER };
    const tag = (name: string, version: string) => ({ file: `${name}-${version}-py2.py3-none-any.whl` });
    await using index = await serveIndex([
      indexFile(
        { name: "python_dateutil", version: "2.9.0.post0", files: dateutil, metadata: ["Requires-Dist: six >=1.5"] },
        tag("python_dateutil", "2.9.0.post0"),
      ),
      indexFile({ name: "six", version: "1.17.0", files: { "six.py": "" } }, tag("six", "1.17.0")),
    ]);
    const { expected, printed } = await runExample("python-wheels", { PIP_INDEX_URL: `${index.origin}/simple/` });
    expect(printed).toBe(expected);
  },
  90_000,
);
