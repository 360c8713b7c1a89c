import { createHash } from "node:crypto";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { unpackTar } from "modern-tar";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { LOCKED, lockedOf } from "../build/locked.ts";
import { BUNDLED } from "../build/third-party.ts";
import manifest from "../package.json" with { type: "json" };
import { ROOT } from "./docs/linked-folder.ts";
import { run } from "./docs/packed-folder.ts";

const PAGE = "server/console/page";
const PACKED = manifest.files.filter((name) => name !== "dist" && !name.startsWith("!"));
/** What the build writes into `compiled` behind the compiler, here once more. */
const TEXTS = ["kernel/guest/parts.json", "kernel/guest/scripts.json", "python/guest/zones.bin", PAGE].map((name) =>
  join(ROOT, "compiled", name),
);
const BUILD_MS = 120_000;

interface Packed {
  readonly sha256: string;
  /** Each file as in the archive: its name, its mode, its time and the hash of its content. */
  readonly files: readonly string[];
  readonly contents: ReadonlyMap<string, string>;
}

/**
 * Builds and packs a copy of this project in a folder of its own, from what the compiler has written. Packages that a
 * build contains are copies, too: bundles name their files.
 */
async function packIn(folder: string, umask: string, modes: string): Promise<Packed> {
  mkdirSync(join(folder, "node_modules"), { recursive: true });
  const copied = [...PACKED, "package.json", "package-lock.json", "build", "compiled", `src/${PAGE}`];
  for (const name of copied)
    cpSync(join(ROOT, name), join(folder, name), { recursive: true, filter: (from) => !TEXTS.includes(from) });
  const bundled = new Set(Object.keys(BUNDLED).map((name) => name.split("/")[0] ?? name));
  for (const name of readdirSync(join(ROOT, "node_modules"))) {
    const [from, to] = [join(ROOT, "node_modules", name), join(folder, "node_modules", name)];
    if (bundled.has(name)) cpSync(from, to, { recursive: true });
    else symlinkSync(from, to);
  }
  const steps = ["texts", "publish", "modes"].map((name) => `node --no-warnings build/${name}.ts`);
  const script = [
    `umask ${umask}`,
    `chmod -R ${modes} ${copied.join(" ")}`,
    ...steps,
    "npm pack --ignore-scripts",
  ].join(" && ");
  await run(folder, "sh", ["-c", script]);
  const archive = readFileSync(join(folder, `${manifest.name}-${manifest.version}.tgz`));
  const entries = await unpackTar(gunzipSync(archive));
  const hash = (data: Uint8Array) => createHash("sha256").update(data).digest("hex");
  return {
    sha256: hash(archive),
    files: entries.map(({ header: { name, mode = 0, mtime }, data = new Uint8Array() }) =>
      [name, mode.toString(8), mtime?.toISOString(), hash(data)].join(" "),
    ),
    contents: new Map(entries.map(({ header, data }) => [header.name, Buffer.from(data ?? []).toString("latin1")])),
  };
}

describe("packages of one commit that are packed in two folders, at two times, under two umasks", () => {
  const folder = mkdtempSync(join(tmpdir(), "glovebox-pack-"));
  const folders = [join(folder, "one"), join(folder, "another/deeper")] as const;
  let packed: readonly Packed[] = [];
  beforeAll(async () => {
    packed = [await packIn(folders[0], "022", "go=rX"), await packIn(folders[1], "077", "go=")];
  }, 2 * BUILD_MS);
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test("are the same, to the byte", () => {
    const [one, another] = packed;
    // Names what differs.
    expect([...new Set(one?.files).symmetricDifference(new Set(another?.files))]).toEqual([]);
    expect(one?.files.length).toBeGreaterThan(1_000);
    expect(one?.sha256).toBe(another?.sha256);
  });

  test("name no folder of whoever built them", () => {
    const naming = [...(packed[0]?.contents ?? [])].filter(([, text]) =>
      [ROOT, folder].some((place) => text.includes(place)),
    );
    expect(naming.map(([name]) => name)).toEqual([]);
  });

  test("have the licence of each package that has code in them", () => {
    const text = packed[0]?.contents.get("package/dist/THIRD_PARTY_LICENSES") ?? "";
    for (const name of Object.keys(BUNDLED)) expect(text).toContain(`\n${name} ${lockedOf(name).version}\n`);
    expect(text.match(/copyright/gi)?.length).toBeGreaterThanOrEqual(Object.keys(BUNDLED).length);
  });
});

test("the list of components has what is installed with the package and what is within it, and is always the same", async () => {
  const folder = mkdtempSync(join(tmpdir(), "glovebox-sbom-"));
  const write = async (name: string): Promise<string> => {
    const file = join(folder, name);
    await run(ROOT, process.execPath, ["--no-warnings", "build/sbom.ts", file]);
    return readFileSync(file, "utf8");
  };
  try {
    const text = await write("one.json");
    expect(await write("another.json")).toBe(text);
    const { components } = JSON.parse(text) as { readonly components: readonly { readonly purl: string }[] };
    const installed = [...LOCKED.values()].filter(({ dev }) => dev === undefined);
    const expected = [...installed, ...Object.keys(BUNDLED).map(lockedOf)].map(
      ({ name, version }) => `pkg:npm/${name.replace("@", "%40")}@${version}`,
    );
    expect(components.map(({ purl }) => purl).toSorted()).toEqual([...new Set(expected)].toSorted());
  } finally {
    rmSync(folder, { recursive: true });
  }
});
