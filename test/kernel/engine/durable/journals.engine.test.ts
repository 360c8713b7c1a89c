import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readRecording, replayCall } from "../../../../src/glovebox/index.ts";
import { readVersion } from "../../../../src/kernel/base/check-node.ts";
import { FILES, goOn, JOURNALS, openJournals, type OpenedJournals, readExpected } from "./journals.ts";

/*
 * Calls that an earlier version has stored go on in this one, to the byte, on the code with which they began. Where that
 * cannot be, because a run from a journal is another than it was, the number of the format is raised: they end then as
 * `diverged`, and do nothing.
 */

const CURRENT = readVersion();
const VERSIONS = readdirSync(JOURNALS);
const REFUSED = /"code":"diverged",.*"message":"the call was kept by another version/;

test("there are journals of this version: `npm run journals` writes them", () => {
  expect(VERSIONS).toContain(CURRENT);
});

describe.each(VERSIONS)("of version %s", (version) => {
  let folder: string;
  let opened: OpenedJournals;
  const { calls, effects, recorded } = readExpected(version);

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "glovebox-journals-"));
    const path = join(folder, "calls.sqlite");
    writeFileSync(path, gunzipSync(readFileSync(join(JOURNALS, version, FILES.calls))));
    opened = await openJournals(path, "new");
  });
  afterAll(async () => {
    await opened.engine.close();
    rmSync(folder, { recursive: true });
  });

  test("each call goes on to the same end, and does nothing twice", async () => {
    const ends = [];
    for (const { name, id } of calls) ends.push({ name, id, output: await goOn(opened, id) });
    const isRefused = version !== CURRENT && ends.every(({ output }) => REFUSED.test(output));
    if (!isRefused) expect(ends).toEqual(calls);
    expect(opened.effects.toSorted()).toEqual(isRefused ? [] : effects);
  });

  test("the recording is replayed to the byte, or refused", async () => {
    let recording: ReturnType<typeof readRecording>;
    try {
      recording = readRecording(readFileSync(join(JOURNALS, version, FILES.recording), "utf8"));
    } catch (error) {
      expect([version === CURRENT, String(error)]).toEqual([false, expect.stringContaining("glovebox-recording")]);
      return;
    }
    const { success, output, error, metadata } = (await replayCall(recording)).result;
    expect(JSON.stringify([success, output, error, metadata.logs])).toBe(recorded);
  });
});

test("a call of a format that this version does not run on ends as diverged, and does nothing", async () => {
  const folder = mkdtempSync(join(tmpdir(), "glovebox-journals-"));
  const path = join(folder, "calls.sqlite");
  writeFileSync(path, gunzipSync(readFileSync(join(JOURNALS, CURRENT, FILES.calls))));
  const database = new DatabaseSync(path);
  database.exec("UPDATE durable SET record = replace(record, 'glovebox-durable/1', 'glovebox-durable/0')");
  database.close();
  const opened = await openJournals(path, "new");
  for (const { id } of readExpected(CURRENT).calls) expect(await goOn(opened, id)).toMatch(REFUSED);
  expect(opened.effects).toEqual([]);
  await opened.engine.close();
  rmSync(folder, { recursive: true });
});
