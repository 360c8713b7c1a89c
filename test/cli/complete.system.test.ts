import { execFile } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, test, vi } from "vitest";
import { temporaryFolder } from "../kernel/tool/temporary.ts";
import { addCommand, glovebox } from "./command.ts";

const tool = (name: string): string =>
  `export const spec = { name: "${name}", description: "x" };\nexport default () => 1;`;
const FILES = {
  "glovebox.config.yaml": "tools: [./tools]\n",
  "tools/one.js": tool("greet"),
  "tools/two.js": tool("grow"),
  "tools/three.py": 'spec = {"name": "count"}\n',
  "tools/four.js": tool("gr$(touch pwned)"),
};

/** The candidates for a line, whose last word is the one to complete. */
async function complete(folder: string, ...words: string[]): Promise<readonly string[]> {
  const { code, stdout, stderr } = await glovebox(folder, ["complete", "--line", ...words.map((word) => `=${word}`)]);
  expect([code, stderr]).toEqual([0, ""]);
  return stdout.split("\n").slice(0, -1);
}

/** What bash offers for a line, after it has evaluated the script; and all that it prints besides. */
function inBash(folder: string, line: string): Promise<string> {
  const words = line.split(" ").map((word) => `'${word}'`);
  const text = `eval "$(glovebox complete bash)"
    COMP_WORDS=(${words.join(" ")}); COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)); _glovebox
    echo "offers: \${COMPREPLY[*]}"`;
  const env = { ...process.env, PATH: `${folder}:${process.env["PATH"] ?? ""}` };
  return new Promise((resolve) => {
    execFile("bash", ["-c", text], { cwd: folder, env, timeout: 120_000 }, (_error, stdout, stderr) =>
      resolve(stdout + stderr),
    );
  });
}

describe("completion", () => {
  test("in bash offers a tool, and prints nothing else", async () => {
    const folder = await temporaryFolder(FILES);
    await addCommand(folder);
    expect(await inBash(folder, "glovebox run gre")).toBe("offers: greet\n");
    expect(await inBash(folder, "glovebox new --template tool")).toBe("offers: tool tool-py\n");
  });

  test("offers commands, options, words of options, and names of tools that a shell reads as words", async () => {
    const folder = await temporaryFolder(FILES);
    expect(await complete(folder, "ke")).toEqual([expect.stringMatching(/^keys\t/)]);
    expect(await complete(folder, "connectors", "lis")).toEqual([
      "list\tlist the connectors of a running server, with their tools",
    ]);
    expect((await complete(folder, "run", "--rec"))[0]).toMatch(/^--record\t/);
    expect(await complete(folder, "serve", "--executor", "")).toEqual(["process", "threads", "queue"]);
    expect(await complete(folder, "explain", "--tenant", "a", "")).toEqual(["greet", "grow", "count"].toSorted());
    expect(await complete(folder, "run", "--tools", "tools/two.js", "")).toEqual(["grow"]);
    expect(await complete(folder, "run", "greet", "x")).toEqual([]);
  });

  test("asks the server for ids of calls, and for no longer than 200 ms", async () => {
    let isSilent = false;
    const server = createServer((request, response) => {
      if (isSilent) return;
      expect(request.url).toBe("/v1/calls?limit=50");
      response.end(
        JSON.stringify({ calls: [{ id: "call-1", tool: "greet", code: "ok" }, { id: "call;2" }], cursor: null }),
      );
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const folder = await temporaryFolder({});
    // The test says when these milliseconds are over: a busy machine may need more of them for the answer.
    const late = new AbortController();
    const timeout = vi.spyOn(AbortSignal, "timeout").mockReturnValue(late.signal);
    expect(await complete(folder, "calls", "show", "--url", url, "call")).toEqual(["call-1\tgreet ok"]);
    expect(timeout.mock.calls).toEqual([[200]]);
    isSilent = true;
    server.once("request", () => late.abort());
    expect(await complete(folder, "calls", "show", "--url", url, "")).toEqual([]);
    server.closeAllConnections();
    server.close();
  });

  test.each(["zsh", "fish", "powershell"])("has a script for %s", async (shell) => {
    const { code, stdout, stderr } = await glovebox(await temporaryFolder({}), ["complete", shell]);
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toContain("glovebox complete --line");
  });

  test("ends with 2 for another shell", async () => {
    const { code, stdout } = await glovebox(await temporaryFolder({}), ["complete", "tcsh"]);
    expect([code, stdout]).toEqual([2, ""]);
  });
});
