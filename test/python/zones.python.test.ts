import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hasZones } from "../../src/python/runtime/zones.ts";
import { newTree } from "../kernel/tool/package/opening.ts";
import { PYTHON_MS, PythonBench } from "./bench.ts";
import { wheelFiles } from "./build-wheel.ts";

let bench: PythonBench;

beforeAll(async () => {
  bench = await PythonBench.open();
}, PYTHON_MS);

afterAll(() => bench[Symbol.asyncDispose]());

const output = async (text: string): Promise<unknown> => {
  const { output: value, error } = await bench.once(text);
  return error ?? value;
};

describe.skipIf(!hasZones())("zoneinfo", () => {
  test("knows the rules of a zone, over changes of the clock and beyond the last one that is written", async () => {
    const text = `
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

def execute(given):
    berlin, york = ZoneInfo("Europe/Berlin"), ZoneInfo("America/New_York")
    before = datetime(2026, 3, 29, 1, 30, tzinfo=berlin)
    after = (before.astimezone(ZoneInfo("UTC")) + timedelta(hours=1)).astimezone(berlin)
    twice = [datetime(2026, 10, 25, 2, 30, tzinfo=berlin, fold=fold).utcoffset() for fold in (0, 1)]
    return {
        "after": after.isoformat(),
        "names": [before.tzname(), after.tzname()],
        "dst": str(after.dst()),
        "twice": [str(one) for one in twice],
        "york": datetime(2026, 7, 1, 12, tzinfo=berlin).astimezone(york).isoformat(),
        "old": str(datetime(1916, 6, 1, tzinfo=berlin).utcoffset()),
        "far": str(datetime(2099, 7, 1, tzinfo=berlin).utcoffset()),
    }
`;
    expect(await output(text)).toEqual({
      after: "2026-03-29T03:30:00+02:00",
      names: ["CET", "CEST"],
      dst: "1:00:00",
      twice: ["2:00:00", "1:00:00"],
      york: "2026-07-01T06:00:00-04:00",
      old: "2:00:00",
      far: "2:00:00",
    });
  });

  test("has every zone that it says is available, each as the machine's own Intl has it", async () => {
    const at = Date.UTC(2026, 6, 1, 12);
    const found = (await output(`
from datetime import datetime, timezone
import zoneinfo

def execute(given):
    now = datetime(2026, 7, 1, 12, tzinfo=timezone.utc)
    names = sorted(zoneinfo.available_timezones())
    return {name: now.astimezone(zoneinfo.ZoneInfo(name)).utcoffset().total_seconds() / 60 for name in names}
`)) as Record<string, number>;
    const wanted = Intl.supportedValuesOf("timeZone");
    expect(Object.keys(found).length).toBeGreaterThan(550);
    expect(wanted.filter((name) => found[name] === undefined)).toEqual([]);
    for (const name of wanted) expect([name, found[name]]).toEqual([name, offsetAt(at, name)]);
  });

  test("has those of a wheel of the package tzdata where a tool gets it", async () => {
    const berlin = await readFile("/usr/share/zoneinfo/Asia/Tokyo");
    const folders = Object.fromEntries(
      ["", "zoneinfo/", "zoneinfo/Europe/"].map((at) => [`tzdata/${at}__init__.py`, ""]),
    );
    const files = { ...folders, "tzdata/zones": "Europe/Berlin\n", "tzdata/zoneinfo/Europe/Berlin": berlin };
    const wheels = await newTree(wheelFiles({ name: "tzdata", version: "2099.1", files }));
    await using own = await PythonBench.open({ packages: { wheels } });
    const [name = ""] = await own.register(`
import zoneinfo
from datetime import datetime

def zones() -> list:
    """Lists the zones, and what one of them is."""
    return [sorted(zoneinfo.available_timezones()), str(datetime(2026, 7, 1, tzinfo=zoneinfo.ZoneInfo("Europe/Berlin")).utcoffset())]
`);
    expect((await own.run(name)).output).toEqual([["Europe/Berlin"], "9:00:00"]);
  });

  test("refuses names of no zone, with the class that Python has for it", async () => {
    const text = `
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

def execute(given):
    told = []
    for name in ("Europe/Nowhere", "Europe", "../tzdata", "/etc/passwd", ""):
        try:
            ZoneInfo(name)
        except ZoneInfoNotFoundError as error:
            told.append(str(error).strip("'"))
        except ValueError as error:
            told.append(type(error).__name__)
    return told
`;
    expect(await output(text)).toEqual([
      "No time zone found with key Europe/Nowhere",
      "No time zone found with key Europe",
      "ValueError",
      "ValueError",
      expect.anything(),
    ]);
  });
});

/** The offset in minutes. */
function offsetAt(ms: number, timeZone: string): number {
  const format = new Intl.DateTimeFormat("en-US", { timeZone, timeZoneName: "longOffset" });
  const name = format.formatToParts(ms).find(({ type }) => type === "timeZoneName")?.value ?? "";
  const [, sign = "+", hours = "0", minutes = "0"] = /GMT(?:([+-])(\d+):(\d+))?/.exec(name) ?? [];
  return (sign === "-" ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) || 0;
}
