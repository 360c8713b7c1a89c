import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import type { ToolResult } from "../../src/glovebox/index.ts";
import { ANSWER, MANAGERS, workspaceOf } from "../kernel/tool/workspaces.ts";
import { said, serve, type Served } from "../server/served.ts";

const TOOL = "apps/agent/tools";

async function call(url: string): Promise<unknown> {
  const body = JSON.stringify({ name: "convert", arguments: {} });
  const headers = { "content-type": "application/json" };
  const response = await fetch(`${url}/v1/execute`, { method: "POST", body, headers });
  return ((await response.json()) as ToolResult).output;
}

/** Makes a change, and waits until the service says what came of it. */
async function after(server: Served, change: () => void, what: RegExp): Promise<string> {
  const from = server.errors.length;
  change();
  return said(server, what, from);
}

const RELOADED = /^glovebox: reloaded: tools changed: convert$/;

/** An edit of a file, made as editors do. */
const edit = (folder: string, name: string, from: string, to: string) => () => {
  const file = path.join(folder, name);
  const text = readFileSync(file, "utf8");
  expect(text).toContain(from);
  writeFileSync(`${file}~`, text.replace(from, to));
  renameSync(`${file}~`, file);
};

test("a tool is made again when any file changes that it is made of", async () => {
  const folder = await workspaceOf("npm");
  await using server = await serve(["--watch", "--tools", TOOL], { cwd: folder });
  await after(server, edit(folder, "packages/shared/src/sign.ts", "+", "-"), RELOADED);
  await after(server, edit(folder, "apps/agent/lib/tax.ts", "19", "7"), RELOADED);
  await after(server, edit(folder, `${TOOL}/table.json`, "1", "3"), RELOADED);
  await after(server, edit(folder, `${TOOL}/note.txt`, "note", "other"), RELOADED);
  await after(server, edit(folder, `${TOOL}/data/rates.json`, "2", "4"), RELOADED);
  await after(server, edit(folder, "shared/round.ts", "round(n)", "floor(n)"), RELOADED);
  mkdirSync(path.join(folder, "packages/rounding"));
  writeFileSync(path.join(folder, "packages/rounding/round.ts"), "export const round = () => 8;");
  await after(server, edit(folder, "tsconfig.base.json", "./shared", "./packages/rounding"), RELOADED);
  expect(await call(server.url)).toEqual({
    ...ANSWER,
    cents: "-12.34 EUR",
    tax: 7,
    round: 8,
    table: { eur: 3 },
    note: "other",
    rates: { usd: 4 },
  });
});

test.each(MANAGERS)("a tool of a workspace of %s runs, and is made again with its packages", async (manager) => {
  const folder = await workspaceOf(manager);
  await using server = await serve(["--watch", "--tools", TOOL], { cwd: folder });
  expect(await call(server.url)).toEqual(ANSWER);
  await after(server, edit(folder, "packages/shared/src/sign.ts", "+", "-"), RELOADED);
  expect(await call(server.url)).toEqual({ ...ANSWER, cents: "-12.34 EUR" });
});

test("a file that is wrong, or gone for a while, is read again when it is there and right", async () => {
  const folder = await workspaceOf("npm");
  await using server = await serve(["--watch", "--tools", TOOL], { cwd: folder });
  const sign = path.join(folder, "packages/shared/src/sign.ts");
  const refused = /not reloaded, nothing has changed/;
  await after(server, () => writeFileSync(sign, `export { sign } from "../../extra/sign.ts";`), refused);
  mkdirSync(path.join(folder, "packages/extra"));
  const extra = path.join(folder, "packages/extra/sign.ts");
  writeFileSync(extra, "export const sign = ;");
  await after(server, () => writeFileSync(sign, `export { sign } from "../../extra/sign.ts"; //`), refused);
  await after(server, () => writeFileSync(extra, "export const sign = '#';"), RELOADED);
  expect(await call(server.url)).toMatchObject({ cents: "#12.34 EUR" });
  await after(server, () => rmSync(path.dirname(extra), { recursive: true }), refused);
  await after(
    server,
    () => {
      mkdirSync(path.dirname(extra));
      writeFileSync(extra, "export const sign = '%';");
    },
    RELOADED,
  );
  expect(await call(server.url)).toMatchObject({ cents: "%12.34 EUR" });
});

test("--root names the project, and an import that leads out of it says so", async () => {
  const folder = await workspaceOf("npm");
  const refused = serve(["--tools", TOOL, "--root", "apps"], { cwd: folder });
  await expect(refused).rejects.toThrow('leads out of the project "apps"');
});
