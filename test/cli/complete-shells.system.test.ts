// needs: zsh, fish
import { execFile } from "node:child_process";
import { expect, test } from "vitest";
import { temporaryFolder } from "../kernel/tool/temporary.ts";
import { addCommand } from "./command.ts";

const TOOL = 'export const spec = { name: "greet", description: "x" };\nexport default () => 1;';
/** What the scripts offer for the last word of lines. In zsh, `_describe` is what shows it. */
const ZSH = `autoload -Uz compinit; compinit -u -D
source <(glovebox complete zsh)
_describe() { print -rl -- "\${(@P)2}" }
for line in "run gr" "keys n" "cal"; do words=(glovebox \${=line}); CURRENT=\${#words}; _glovebox; done`;
const FISH = `source (glovebox complete fish | psub)
for line in "run gr" "keys n" "cal"; complete -C "glovebox $line"; end`;

test.each([
  ["zsh", ["-f", "-c", ZSH]],
  ["fish", ["--no-config", "-c", FISH]],
] as const)("%s offers commands and names of tools", async (shell, args) => {
  const folder = await temporaryFolder({ "glovebox.config.yaml": "tools: [./tools]\n", "tools/one.js": TOOL });
  await addCommand(folder);
  const env = { ...process.env, HOME: folder, PATH: `${folder}:${process.env["PATH"] ?? ""}` };
  const printed = await new Promise<string>((resolve) => {
    const done = (_error: unknown, stdout: string, stderr: string): void => resolve(stdout + stderr);
    execFile(shell, args, { cwd: folder, env, timeout: 240_000 }, done);
  });
  expect(printed.split("\n")).toEqual([
    expect.stringMatching(/^greet(?::greet)?$/),
    expect.stringMatching(/^new[:\t]/),
    expect.stringMatching(/^calls[:\t]/),
    "",
  ]);
});
