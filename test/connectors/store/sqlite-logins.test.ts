import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { type LoginStore, openLoginStore } from "../../../src/connectors/store/login-store.ts";
import { describeLogins } from "./suite.ts";

let folder = "";
const opened: LoginStore[] = [];
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "glovebox-logins-"));
});
afterEach(async () => {
  await Promise.all(opened.splice(0).map((store) => store.close()));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function open(name = "logins.sqlite", secret: string | null = null): Promise<LoginStore> {
  const store = await openLoginStore({ kind: "file", path: path.join(folder, name), secret });
  opened.push(store);
  return store;
}

describeLogins(open);

test("the files are for their owner only, and hold no text of a login", async () => {
  await (await open("own.sqlite")).write("crm", null, "a refresh token");
  const names = (await readdir(folder)).filter((name) => name.startsWith("own.sqlite"));
  expect(names).toContain("own.sqlite.key");
  for (const name of names) {
    expect((await stat(path.join(folder, name))).mode & 0o077).toBe(0);
    expect(await readFile(path.join(folder, name), "latin1")).not.toContain("a refresh token");
  }
});

test("processes that make the key at once have the same one", async () => {
  const stores = await Promise.all(Array.from({ length: 8 }, () => open("new.sqlite")));
  await stores[0]?.write("crm", null, "text");
  for (const store of stores) expect(await store.read("crm")).toMatchObject({ text: "text" });
});

test("a text is opened with its own secret and at its own place only", async () => {
  const secret = "a secret of the operator";
  await (await open("secret.sqlite", secret)).write("crm", null, "text");
  expect(await (await open("secret.sqlite", secret)).read("crm")).toMatchObject({ text: "text" });
  await expect((await open("secret.sqlite", "another secret of the operator")).read("crm")).rejects.toThrow(
    "the stored login was sealed with another secret, or was changed",
  );
  await expect((await open("secret.sqlite")).read("crm")).rejects.toThrow("another secret");
});

test("a key that was damaged is not replaced: logins would be lost", async () => {
  await writeFile(path.join(folder, "bad.sqlite.key"), "0123");
  await expect(open("bad.sqlite")).rejects.toThrow("is not 64 hexadecimal digits");
});
