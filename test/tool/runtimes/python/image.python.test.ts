import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Ended, runProgram } from "../../../engine/program.ts";

const ENDS_MS = 60_000;
const ANSWERS = "[6,10]";

let home = "";

beforeEach(() => {
  home = mkdtempSync(path.join(tmpdir(), "glovebox-test-"));
});

afterEach(() => rmSync(home, { recursive: true, force: true }));

const run = (): Promise<Ended> => runProgram("python", ["threads", "call", home], ENDS_MS);

const cached = (): string[] => readdirSync(path.join(home, "glovebox"));

test("Python's image is made once by processes that begin together, and made again where a file of it is cut", async () => {
  const [one, other] = await Promise.all([run(), run()]);
  expect([one.stdout, one.stderr, one.code]).toEqual([expect.stringContaining(ANSWERS), "", 0]);
  expect([other.stdout, other.stderr, other.code]).toEqual([expect.stringContaining(ANSWERS), "", 0]);
  const [image = "", ...others] = cached();
  expect([image, others]).toEqual([expect.stringMatching(/^python-[0-9a-f]{32}$/), []]);

  truncateSync(path.join(home, "glovebox", image, "snapshot.bin"), 1_000_000);
  const again = await run();
  expect([again.stdout, again.stderr, again.code]).toEqual([expect.stringContaining(ANSWERS), "", 0]);
  expect(cached()).toEqual([image]);
}, 200_000);

test("what has the image's name and is a link is replaced, and what a killed process left half made is removed", async () => {
  const folder = path.join(home, "glovebox");
  const first = await run();
  const [image = ""] = cached();
  const elsewhere = path.join(home, "elsewhere");
  mkdirSync(elsewhere);
  writeFileSync(path.join(elsewhere, "image.json"), "{}");
  rmSync(path.join(folder, image), { recursive: true });
  symlinkSync(elsewhere, path.join(folder, image));
  mkdirSync(path.join(folder, "making-new"));
  const again = await run();
  expect([first.stdout, again.stdout].map((text) => text.startsWith(ANSWERS))).toEqual([true, true]);
  expect(again.stderr).toBe("");
  expect(readdirSync(elsewhere)).toEqual(["image.json"]);
  expect(cached().toSorted()).toEqual(["making-new", image]);
}, 200_000);

test("a folder that others may write to is not used", async () => {
  mkdirSync(path.join(home, "glovebox"));
  chmodSync(path.join(home, "glovebox"), 0o777);
  const { stdout, stderr, code } = await run();
  expect([stdout, stderr, code]).toEqual([`${ANSWERS}\n\n`, "", 0]);
}, 100_000);
