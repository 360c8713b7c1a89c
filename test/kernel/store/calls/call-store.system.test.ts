import { DatabaseSync } from "node:sqlite";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { WAITING_MAX } from "../../../../src/kernel/store/calls/call-store.ts";
import { overwritePages } from "./fault-store.ts";
import { rowOf } from "./kept-row.ts";
import { openStore, scratchFolder } from "./stored-calls.ts";
import { BEGIN_MS, CALLS, describeCallStore, idsOf } from "./suite.ts";

describe("the store of calls in a file", () => {
  describeCallStore(() => ({ path: join(scratchFolder(), "state", "calls.sqlite") }));

  test("lets its owner alone read it", async () => {
    const path = join(scratchFolder(), "state", "calls.sqlite");
    await openStore({ path }).list();
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  test("a file at its size loses its oldest calls, and no new ones", async () => {
    const path = join(scratchFolder(), "calls.sqlite");
    const { store, list, drops } = openStore({ path, maxBytes: 16 * 1024 * 1024 });
    const text = JSON.stringify("x".repeat(100_000));
    for (let at = 0; at < 400; at++) {
      store.keep(rowOf({ id: `c${at}`, beginMs: BEGIN_MS + at }, { output: text }), text.length);
      if (at % 40 === 39) await expect.poll(() => store.status().kept).toBe(at + 1);
    }
    expect(drops).toEqual([]);
    expect(statSync(path).size).toBeLessThanOrEqual(16 * 1024 * 1024);
    const [newest] = await list({ limit: 200 });
    expect(newest?.id).toBe("c399");
    expect((await store.get("c399", null))?.detail?.output).toHaveLength(100_000);
  });
});

describe("the store of calls in a sealed file", () => {
  describeCallStore(() => ({ path: join(scratchFolder(), "calls.sqlite"), secret: "a secret of the file" }));
});

describe("a file that cannot be used", () => {
  test("is tried again until it can, and what fits the queue is not lost", async () => {
    const folder = scratchFolder();
    writeFileSync(join(folder, "state"), "a file in the place of the folder");
    const { store, list, drops } = openStore({ path: join(folder, "state", "calls.sqlite") });
    store.keep(rowOf({ id: "first" }), 0);
    await expect(list()).rejects.toThrow("the store cannot be opened: ENOTDIR");
    await expect.poll(() => store.status().problem).toBe("the store cannot be opened: ENOTDIR");
    rmSync(join(folder, "state"));
    mkdirSync(join(folder, "state"));
    await expect.poll(() => store.status().kept).toBe(1);
    expect(store.status().problem).toBeNull();
    expect(idsOf(await list())).toEqual(["first"]);
    expect(drops).toEqual([]);
  });

  test("is told before the first call, until it could be written, and is not created for that", async () => {
    const folder = scratchFolder();
    const path = join(folder, "state", "calls.sqlite");
    writeFileSync(join(folder, "state"), "a file in the place of the folder");
    const { store, outages } = openStore({ path });
    await expect.poll(() => store.status().problem).toBe("the store cannot be opened: ENOTDIR");
    await expect.poll(() => outages[0], { timeout: 60_000 }).toMatchObject({ reason: "unusable", path });
    rmSync(join(folder, "state"));
    await expect.poll(() => store.status().problem, { timeout: 60_000 }).toBeNull();
    expect(existsSync(path)).toBe(false);
  });

  test("is told once with its path and the system's code, and when it can be used again", async () => {
    const path = join(scratchFolder(), "calls.sqlite");
    mkdirSync(path);
    const { store, outages } = openStore({ path });
    for (let at = 0; at < 3; at++) store.keep(rowOf({ id: `c${at}` }), 0);
    await expect.poll(() => outages.length).toBeGreaterThan(0);
    rmSync(path, { recursive: true });
    await expect.poll(() => store.status().kept).toBe(3);
    const problem = "the store cannot be opened: EISDIR";
    expect(outages[0]).toEqual({ reason: "unusable", problem, path, downMs: expect.any(Number) });
    expect(outages.at(-1)).toEqual({ path, downMs: expect.any(Number) });
  });

  test("drops are counted by its problem when too many calls wait", async () => {
    const folder = scratchFolder();
    writeFileSync(join(folder, "state"), "a file in the place of the folder");
    const { store, drops } = openStore({ path: join(folder, "state", "calls.sqlite") });
    store.keep(rowOf({ id: "first" }), 0);
    await expect.poll(() => store.status().problem).not.toBeNull();
    for (let at = 0; at < WAITING_MAX + 9; at++) store.keep(rowOf({ id: `c${at}` }), 0);
    expect(store.status().dropped.unusable).toBe(10);
    await expect.poll(() => drops).toMatchObject([{ dropped: 10, reason: "unusable" }]);
    await store.close();
    expect(store.status().dropped.unusable).toBe(WAITING_MAX + 10);
  });

  test("a file that another process has locked delays calls, and loses none", async () => {
    const path = join(scratchFolder(), "calls.sqlite");
    const { store, list } = openStore({ path });
    store.keep(rowOf({ id: "first" }), 0);
    await list();
    const other = new DatabaseSync(path, { timeout: 60_000 });
    other.exec("BEGIN IMMEDIATE");
    store.keep(rowOf({ id: "second" }), 0);
    expect(idsOf(await list())).toEqual(["first"]);
    await expect.poll(() => store.status().problem).not.toBeNull();
    other.exec("COMMIT");
    other.close();
    await expect.poll(() => store.status().kept).toBe(2);
    expect(idsOf(await list())).toEqual(["second", "first"]);
  });

  test("a damaged file is moved aside, and another one is begun", async () => {
    const path = join(scratchFolder(), "calls.sqlite");
    const before = openStore({ path });
    for (const call of CALLS) before.store.keep(rowOf(call), 0);
    await before.store.close();
    overwritePages(path);
    const { store, list, renewals, drops } = openStore({ path });
    store.keep(rowOf({ id: "after" }), 0);
    await expect.poll(() => store.status().kept).toBe(1);
    expect(idsOf(await list())).toEqual(["after"]);
    expect(renewals).toEqual(["corrupt"]);
    expect(drops).toEqual([]);
    expect(existsSync(`${path}.corrupt`)).toBe(true);
  });

  test("a file whose first page is damaged stays, says what to do, and is begun anew once it is moved away", async () => {
    const path = join(scratchFolder(), "calls.sqlite");
    writeFileSync(path, Buffer.alloc(4_096, 0xa5));
    const { store, list } = openStore({ path });
    store.keep(rowOf({ id: "after" }), 0);
    await expect(list()).rejects.toThrow("move it away with its -wal and -shm, and a new one is begun");
    renameSync(path, `${path}.corrupt`);
    await expect.poll(() => store.status().kept).toBe(1);
    expect(idsOf(await list())).toEqual(["after"]);
  });

  test("a file that is gone is replaced", async () => {
    const path = join(scratchFolder(), "calls.sqlite");
    const { store, list, renewals } = openStore({ path });
    store.keep(rowOf({ id: "first" }), 0);
    await list();
    for (const side of ["", "-wal", "-shm"]) rmSync(path + side, { force: true });
    store.keep(rowOf({ id: "second" }), 0);
    expect(idsOf(await list())).toEqual(["second"]);
    expect(renewals).toEqual(["gone"]);
    expect(existsSync(path)).toBe(true);
  });

  test("a file of another program is neither changed nor moved", async () => {
    const path = join(scratchFolder(), "calls.sqlite");
    const other = new DatabaseSync(path);
    other.exec("CREATE TABLE theirs (a); PRAGMA application_id = 7");
    other.close();
    const text = join(scratchFolder(), "notes.txt");
    writeFileSync(text, "These are notes, and no database of anybody.".repeat(100));
    for (const theirs of [path, text]) {
      const bytes = readFileSync(theirs);
      const { store, list } = openStore({ path: theirs });
      store.keep(rowOf({ id: "first" }), 0);
      await expect(list()).rejects.toThrow("the store");
      await store.close();
      expect(readFileSync(theirs)).toEqual(bytes);
    }
  });
});
