import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { readPackage } from "../../src/python/runtime/package.ts";
import { pinnedBy } from "../../src/python/runtime/pylock.ts";
import { parseToml } from "../../src/kernel/tool/package/toml.ts";
import { newTree } from "../kernel/tool/package/opening.ts";
import { buildWheel, type WheelParts } from "./build-wheel.ts";
import { problemOf } from "./refusal.ts";

const MAX_BYTES = 1024 * 1024;
const ZERO = "0".repeat(64);

const shout: WheelParts = { name: "shout", version: "1.2", metadata: ["Requires-Dist: softly"] };
const softly: WheelParts = { name: "softly", version: "1.0" };
const sha256 = (parts: WheelParts): string => createHash("sha256").update(buildWheel(parts)).digest("hex");
const hashed = ({ name, version = "1.0" }: WheelParts, hash: string): string =>
  `${name}==${version} --hash=sha256:${hash}\n`;
const locked = (parts: WheelParts, hash = sha256(parts), more = ""): string =>
  `[[packages]]\nname = "${parts.name}"\nversion = "${parts.version ?? ""}"\n${more}\n[[packages.wheels]]\nurl = "https://example.org/any.whl"\nhashes = { sha256 = "${hash}" }\n`;
const LOCK = 'lock-version = "1.0"\ncreated-by = "a test"\n';

/** The packages' files that a tool beside these files has. */
async function modulesOf(
  files: Readonly<Record<string, string>>,
  entry = "code/function.py",
): Promise<readonly string[]> {
  const wheels = await newTree(
    Object.fromEntries(
      [shout, { ...shout, version: "1.3" }, softly].map((one) => [
        `${one.name}-${one.version}-py3-none-any.whl`,
        buildWheel(one),
      ]),
    ),
  );
  const folder = await newTree({ "code/function.py": "x = 1\n", ...files });
  const { text } = await readPackage({ folder, entry, wheels, maxBytes: MAX_BYTES });
  const { packages } = JSON.parse(text) as { readonly packages: object };
  return Object.keys(packages).filter((file) => file.endsWith("METADATA"));
}

describe("requirements with hashes", () => {
  test("are met by wheels that have them, and by no other version", async () => {
    const text = hashed(shout, sha256(shout)) + hashed(softly, sha256(softly));
    expect(await modulesOf({ "code/requirements.txt": text })).toEqual([
      "shout-1.2.dist-info/METADATA",
      "softly-1.0.dist-info/METADATA",
    ]);
  });

  test.each<[string, string, string]>([
    ["that no wheel has", hashed(shout, ZERO), "has none of the hashes that it names"],
    [
      "beside one without",
      `${hashed(shout, sha256(shout))}softly==1.0\n`,
      'line 2, asks for "softly==1.0" without --hash',
    ],
    ["of no one version", `shout>=1 --hash=sha256:${ZERO}\n`, 'asks for "shout>=1" without one version'],
    ["of all versions of a kind", `shout==1.* --hash=sha256:${ZERO}\n`, "without one version"],
    ["but not of what they need", hashed(shout, sha256(shout)), 'asks for "softly", which nothing pins with a hash'],
  ])("%s are refused", async (_what, text, expected) => {
    expect(await problemOf(() => modulesOf({ "code/requirements.txt": text }))).toContain(expected);
  });
});

describe("a lock beside a tool", () => {
  test("names what is installed, and versions of what is asked for", async () => {
    const lock = LOCK + locked(shout) + locked(softly);
    expect(await modulesOf({ "code/pylock.toml": lock, "code/requirements.txt": "shout>=1\n" })).toEqual([
      "shout-1.2.dist-info/METADATA",
      "softly-1.0.dist-info/METADATA",
    ]);
  });

  test("stands beside a project's pyproject.toml", async () => {
    const files = {
      "pyproject.toml":
        '[project]\ndependencies = ["softly"]\n[project.entry-points."amplifier.modules"]\none = "one:mount"\n',
      "one.py": "def mount(coordinator, config): ...\n",
    };
    const pinned = { ...files, "pylock.toml": LOCK + locked(softly) };
    expect(await modulesOf(pinned, "pyproject.toml")).toEqual(["softly-1.0.dist-info/METADATA"]);
    const other = { ...files, "pylock.toml": LOCK + locked(softly, ZERO) };
    expect(await problemOf(() => modulesOf(other, "pyproject.toml"))).toContain("none of the hashes");
  });

  test("leaves out what is for other environments", async () => {
    const lock = LOCK + locked(softly) + locked(shout, ZERO, `marker = "sys_platform == 'win32'"`);
    expect(await modulesOf({ "code/pylock.toml": lock })).toEqual(["softly-1.0.dist-info/METADATA"]);
  });

  test.each<[string, string, string]>([
    ["whose hash no wheel has", LOCK + locked(softly, ZERO), "has none of the hashes that it names"],
    ["that lacks what its packages need", LOCK + locked(shout), 'asks for "softly", which nothing pins with a hash'],
    [
      "of a version that is not there",
      LOCK + locked({ ...softly, version: "9" }, ZERO),
      'package 1, asks for "softly==9"',
    ],
  ])("%s is refused", async (_what, text, expected) => {
    expect(await problemOf(() => modulesOf({ "code/pylock.toml": text }))).toContain(expected);
  });

  test("does not let in what it does not name", async () => {
    const files = { "code/pylock.toml": LOCK + locked(softly), "code/requirements.txt": "shout\n" };
    expect(await problemOf(() => modulesOf(files))).toContain(
      'line 1, asks for "shout", which nothing pins with a hash',
    );
  });

  test.each<[string, string, string]>([
    ["that is not TOML", "packages = [", "pylock.toml, line 1, is not TOML"],
    ["of another format", 'lock-version = "2.0"', '"2.0" is not supported'],
    ["for another Python", `${LOCK}requires-python = "<3.10"`, 'requires Python "<3.10"; this is Python 3.14.2'],
    ["for another environment", `${LOCK}environments = ["os_name == 'nt'"]`, "is for other environments"],
    ["with an environment that is not understood", `${LOCK}environments = ["?"]`, "?"],
    ["whose packages are no list", `${LOCK}packages = 1`, "must have a list of at most 1000 packages"],
    ["with a package without a name", `${LOCK}[[packages]]\nversion = "1"`, "package 1, must have a name"],
    ["with a package without a version", `${LOCK}[[packages]]\nname = "a"`, "package 1, must have a version"],
    ["with a package of a folder", `${LOCK}[[packages]]\nname = "a"\ndirectory = { path = "." }`, "from directory"],
    ["with a package to build", `${LOCK}[[packages]]\nname = "a"\nversion = "1"\nsdist = {}`, "has no wheels"],
    [
      "with a weak hash",
      `${LOCK}[[packages]]\nname = "a"\nversion = "1"\nwheels = [{ hashes = { md5 = "x" } }]`,
      "sha256",
    ],
    ["with a package twice", LOCK + locked(softly) + locked(softly), 'package 2, is "softly" again'],
  ])("%s is refused", async (_what, text, expected) => {
    expect(await problemOf(() => pinnedBy(parseToml(Buffer.from(text), "pylock.toml")))).toContain(expected);
  });
});
