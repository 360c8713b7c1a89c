/** A start that ends: what it prints, and its exit code. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import type { Outcome, StartFault } from "./fault.ts";
import { textOf } from "./line.ts";
import { COMMAND } from "./scene.ts";
import { noticesOf } from "../server/served.ts";

const END_MS = 120_000;
/** What one of several thousand users of other tests may read, too. */
const READABLE = 0o755;

/** Brings a fault about before a start, and answers how that ended. */
export async function startUnder({ name, place, what, prepare, sees }: StartFault): Promise<Outcome> {
  await using owned = new AsyncDisposableStack();
  const path = mkdtempSync(join(tmpdir(), "glovebox-start-"));
  owned.defer(() => rmSync(path, { recursive: true, force: true }));
  chmodSync(path, READABLE);
  mkdirSync(join(path, "tools"));
  const write = (file: string, content: string): void => writeFileSync(join(path, file), content);
  write(
    "tools/add.js",
    'export const spec = { name: "add", description: "Adds." }; export default ({ a, b }) => a + b;',
  );
  const { args, env = {}, within = [] } = await prepare({ path, owned, write });
  const [program = "", ...rest] = [...within, ...COMMAND, "serve", ...args];
  const child = spawn(program, rest, {
    cwd: path,
    env: { ...process.env, ...env },
    stdio: ["ignore", "ignore", "pipe"],
    timeout: END_MS,
    killSignal: "SIGKILL",
  });
  const [said, [code, signal]] = await Promise.all([text(child.stderr), once(child, "close")]);
  const exit = String(code ?? signal);
  const words = noticesOf(said);
  const lines = words.split("\n").filter(Boolean);
  const missing = [
    ...(exit === String(sees.exit) ? [] : [`exit code ${sees.exit}, it was ${exit}`]),
    ...(sees.says.test(words) ? [] : [`${sees.says} in ${JSON.stringify(words.slice(0, 2_000))}`]),
    ...(/^(?!\{)./m.test(said) ? ["lines of JSON alone"] : []),
  ];
  const log = lines.find((line) => sees.says.test(line)) ?? lines[0] ?? "";
  return {
    name,
    place,
    what,
    answers: `exit code ${exit}`,
    log: textOf(log)
      .replaceAll(`${path}/`, "")
      .replaceAll(/127\.0\.0\.1, port \d+/g, "127.0.0.1, port …"),
    metric: "",
    ready: null,
    recoveryMs: null,
    lost: 0,
    twice: 0,
    missing,
  };
}
