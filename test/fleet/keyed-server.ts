import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { EngineOptions, IdempotencyOptions, ToolDefinition, ToolResult } from "../../src/glovebox/index.ts";

const PROGRAM = new URL("./programs/keyed-server.ts", import.meta.url).pathname;

const KEEPER = new URL("./programs/keeper.js", import.meta.url).pathname;
const LIMITS = { wallMs: 60_000, queueMs: 60_000 };
export const API_KEY = "sk-live-0123456789";

/** Where a server finds its fleet, its ledger, and whom its tools tell what they do. */
export interface KeyedSettings {
  readonly url: string;
  readonly fleet: string;
  readonly ledger: IdempotencyOptions;
  readonly origin: string;
  /** Of the fleet's timings. */
  readonly scale: number;
}

export interface KeyedAsk {
  readonly tool: string;
  readonly key: string;
  readonly ms?: number;
}

export function keyedOptions({ url, fleet, ledger, origin }: KeyedSettings): EngineOptions {
  return {
    executor: { kind: "queue", url, fleet },
    idempotency: ledger,
    limits: LIMITS,
    policy: { rules: [{ allow: { fetch: { origins: [], privateOrigins: [origin] } } }] },
    tools: [
      ...keyedTools(origin),
      {
        path: KEEPER,
        limits: LIMITS,
        capabilities: { fetch: { origins: [origin] } },
        config: { origin, api_key: API_KEY },
      },
    ],
  };
}

/** All but one say to `origin` that they run, before they wait for `ms`. */
function keyedTools(origin: string): ToolDefinition[] {
  const capabilities = { fetch: { origins: [origin] } };
  const wait = "await new Promise((resolve) => setTimeout(resolve, ms));";
  const tell = (word: string) => `await fetch(${JSON.stringify(origin)} + "/${word}/" + key); console.log("${word}");`;
  const tool = (name: string, body: string, more: Partial<ToolDefinition> = {}): ToolDefinition => {
    const source = `export default async ({ key, ms }) => { ${body} };`;
    return { name, description: "Waits.", limits: LIMITS, source, ...more };
  };
  return [
    tool("idles", wait),
    tool("tells", `${tell("began")} ${wait} return { key };`, { capabilities }),
    tool("repeats", `${tell("began")} ${wait} return { key };`, { capabilities, annotations: { idempotent: true } }),
    tool("asks", `${tell("began")} ${wait} ${tell("goes-on")} return { key };`, { capabilities }),
    tool("misfit", `${tell("began")} ${wait} return { key };`, { capabilities, outputSchema: { type: "string" } }),
    tool("fails", `${tell("began")} ${wait} throw new TypeError("no " + key);`, { capabilities }),
  ];
}

export type KeyedSaying =
  /** It has told the world so, and waits. */
  | { readonly kind: "began"; readonly key: string }
  | { readonly kind: "ended"; readonly key: string; readonly result: ToolResult };

/** A server in a process of its own, which can be killed. */
export interface KeyedServer extends AsyncDisposable {
  /** Asks, and does not wait. */
  ask(ask: KeyedAsk): void;
  /** Asks, and waits until the tool has told the world that it began, and has heard that this was done. */
  begin(ask: KeyedAsk): Promise<void>;
  /** Asks, and answers what comes of it. */
  result(ask: KeyedAsk): Promise<ToolResult>;
  kill(): Promise<void>;
}

export async function startKeyedServer(settings: KeyedSettings): Promise<KeyedServer> {
  const child: ChildProcess = spawn(process.execPath, ["--no-warnings", PROGRAM, JSON.stringify(settings)], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const { stdin, stdout } = child;
  if (stdin === null || stdout === null) throw new Error("it has no pipes");
  const lines = createInterface(stdout);
  const beginning = new Map<string, () => void>();
  const waiting = new Map<string, (result: ToolResult) => void>();
  await once(lines, "line", { signal: AbortSignal.timeout(60_000) });
  lines.on("line", (line) => {
    const said = JSON.parse(line) as KeyedSaying;
    if (said.kind === "began") beginning.get(said.key)?.();
    else waiting.get(said.key)?.(said.result);
  });
  const kill = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exit = once(child, "exit");
    child.kill("SIGKILL");
    await exit;
  };
  const ask = (asked: KeyedAsk): void => void stdin.write(`${JSON.stringify(asked)}\n`);
  return {
    ask,
    begin: (asked) =>
      new Promise((resolve) => {
        beginning.set(asked.key, resolve);
        ask(asked);
      }),
    result: (asked) =>
      new Promise((resolve) => {
        waiting.set(asked.key, resolve);
        ask(asked);
      }),
    kill,
    [Symbol.asyncDispose]: kill,
  };
}
