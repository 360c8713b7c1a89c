import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, test } from "vitest";
import { readZip } from "../../src/kernel/tool/package/zip.ts";
import { hasZones, readZones, withFile, writeZones, ZONES_FILE } from "../../src/python/runtime/zones.ts";
import { buildZip } from "../kernel/tool/package/build-zip.ts";

test("a file is added to an archive, whose other files stay as they are", async () => {
  const archive = buildZip([
    { name: "a.py", data: "a = 1\n" },
    { name: "b/c.py", data: "b = 2\n" },
  ]);
  const data = Buffer.from([0, 1, 2, 255]);
  const entries = await readZip(withFile(archive, "zones.bin", data));
  const files = await Promise.all(
    entries.map(async (entry) => [entry.name, Buffer.from(await entry.read()).toString("hex")]),
  );
  expect(Object.fromEntries(files)).toEqual({
    "a.py": Buffer.from("a = 1\n").toString("hex"),
    "b/c.py": Buffer.from("b = 2\n").toString("hex"),
    "zones.bin": "000102ff",
  });
  expect(() => withFile(Buffer.alloc(100), "zones.bin", data)).toThrow("packs its library in another way");
});

test.skipIf(!hasZones())("the zones of a machine are one file, with the same data once", async () => {
  const folder = await mkdtemp(path.join(tmpdir(), "glovebox-zones-"));
  try {
    await writeZones(folder);
    const zones = (await readZones(path.join(folder))) ?? Buffer.alloc(0);
    const end = zones.indexOf("\n") + 1;
    const places = new Map(
      Object.entries(JSON.parse(zones.toString("utf8", 0, end)) as Record<string, [number, number]>),
    );
    expect(places.get("Europe/Berlin")).toEqual(places.get("Arctic/Longyearbyen"));
    for (const [at, length] of places.values())
      expect(zones.toString("latin1", end + at, end + at + 4)).toBe(length > 0 ? "TZif" : "");
    for (const name of ["posixrules", "localtime", "posix/Europe/Berlin", "zone.tab"])
      expect(places.has(name)).toBe(false);
    expect(zones.length).toBeLessThan(1024 * 1024);
    expect(ZONES_FILE).toBe("zones.bin");
  } finally {
    await rm(folder, { recursive: true });
  }
});
