/** Writes the calls and the recording of this version to `fixtures/journals`: `npm run journals`. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { gzipSync } from "node:zlib";
import { codeMode } from "../../../../src/code-mode/index.ts";
import type { ToolResult } from "../../../../src/glovebox/index.ts";
import { readVersion } from "../../../../src/kernel/base/check-node.ts";
import {
  type Expected,
  FILES,
  goOn,
  JOURNALS,
  type KeptJournal,
  openJournals,
  PROGRAM,
  settle,
} from "../durable/journals.ts";

/** No call of a fixture ends by itself: in milliseconds since 1970. */
const ENDS_MS = Date.UTC(2100, 0);

function idOf({ error }: ToolResult): string {
  if (error?.code === "paused" && error.details?.id !== undefined) return error.details.id;
  throw new Error(`the call does not wait: ${error?.message}`);
}

const folder = mkdtempSync(join(tmpdir(), "glovebox-journals-"));
const [first, copy] = [join(folder, "calls.sqlite"), join(folder, "copy.sqlite")];
const ids: Record<string, string> = {};
const opened = await openJournals(first, "old");
const { engine } = opened;
const args = { id: 12_345_678_901_234_567_890n };
const recorded = await engine.execute({ name: "travel", arguments: args }, { record: true });
ids["journey"] = idOf(await engine.execute({ name: "journey", arguments: args }));
await goOn(opened, ids["journey"], "signal 8");
ids["gated"] = idOf(await engine.execute({ name: "gated", arguments: args }));
ids["program"] = idOf(await codeMode(engine).run(PROGRAM));
await goOn(opened, ids["program"], "approval 2");
void engine.execute({ name: "lost", arguments: {} }, { durable: true });
await opened.hanging;
const [lost] = (await engine.calls.durable.list({ state: "running" })).calls;
ids["lost"] = lost?.id ?? "";

// As it is while a call stays in an effect: so does a process leave it that is killed there.
using database = new DatabaseSync(first);
database.prepare("VACUUM INTO ?").run(copy);
using copied = new DatabaseSync(copy);
copied.exec(`UPDATE durable SET ends_ms = ${ENDS_MS}; DELETE FROM call; DELETE FROM detail; VACUUM`);
copied.close();
await engine.close();

// A person approves the version of a tool that is shown: so they do it before there is another one.
const people = await openJournals(copy, null);
for (const id of [ids["gated"], ids["program"]]) {
  const waits = (await people.engine.calls.durable.get(id))?.waits ?? [];
  for (const wait of waits) if (wait.state === "open") await settle(people.engine, id, wait);
}
await people.engine.close();

const to = join(JOURNALS, readVersion());
mkdirSync(to, { recursive: true });
writeFileSync(join(to, FILES.calls), gzipSync(readFileSync(copy), { level: 9 }));
const { success, output, error, metadata } = recorded;
writeFileSync(join(to, FILES.recording), `${JSON.stringify(metadata["recording"], null, 2)}\n`);

const later = await openJournals(copy, "new");
const calls: KeptJournal[] = [];
for (const [name, id] of Object.entries(ids)) calls.push({ name, id, output: await goOn(later, id) });
await later.engine.close();
const effects = later.effects.toSorted();
const expected: Expected = { calls, effects, recorded: JSON.stringify([success, output, error, metadata.logs]) };
writeFileSync(join(to, FILES.expected), `${JSON.stringify(expected, null, 2)}\n`);
rmSync(folder, { recursive: true });
