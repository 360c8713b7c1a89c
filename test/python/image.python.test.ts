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
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Ended, runProgram } from "../kernel/engine/program.ts";

const ENDS_MS = 300_000;
const ANSWERS = "[6,10]";

let home = "";
/** Processes that begin together where there is no image. */
let first: readonly Ended[] = [];

beforeAll(async () => {
  home = mkdtempSync(path.join(tmpdir(), "glovebox-test-"));
  first = await Promise.all([run(), run()]);
}, 2 * ENDS_MS);

afterAll(() => rmSync(home, { recursive: true, force: true }));

const run = (folder = home): Promise<Ended> => runProgram("python", ["threads", "call", folder], ENDS_MS);

const cached = (): string[] => readdirSync(path.join(home, "glovebox"));

test("Python's image is made once by processes that begin together, and made again where a file of it is cut", async () => {
  for (const one of first)
    expect([one.stdout, one.stderr, one.code]).toEqual([expect.stringContaining(ANSWERS), "", 0]);
  const [image = "", ...others] = cached();
  expect([image, others]).toEqual([expect.stringMatching(/^python-[0-9a-f]{32}$/), []]);

  truncateSync(path.join(home, "glovebox", image, "snapshot.bin"), 1_000_000);
  const again = await run();
  expect([again.stdout, again.stderr, again.code]).toEqual([expect.stringContaining(ANSWERS), "", 0]);
  expect(cached()).toEqual([image]);
}, 600_000);

test("what has the image's name and is a link is replaced, and what a killed process left half made is removed", async () => {
  const folder = path.join(home, "glovebox");
  const [image = ""] = cached();
  const elsewhere = path.join(home, "elsewhere");
  mkdirSync(elsewhere);
  writeFileSync(path.join(elsewhere, "image.json"), "{}");
  rmSync(path.join(folder, image), { recursive: true });
  symlinkSync(elsewhere, path.join(folder, image));
  mkdirSync(path.join(folder, "making-new"));
  const again = await run();
  expect([again.stdout, again.stderr]).toEqual([expect.stringContaining(ANSWERS), ""]);
  expect(readdirSync(elsewhere)).toEqual(["image.json"]);
  expect(cached().toSorted()).toEqual(["making-new", image]);
}, 600_000);

test("a folder that others may write to is not used", async () => {
  const open = path.join(home, "open");
  mkdirSync(path.join(open, "glovebox"), { recursive: true });
  chmodSync(path.join(open, "glovebox"), 0o777);
  const { stdout, stderr, code } = await run(open);
  expect([stdout, stderr, code]).toEqual([`${ANSWERS}\n\n`, "", 0]);
}, 600_000);
