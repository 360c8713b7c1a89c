import { Command } from "commander";
import type { PolicySimulation } from "../kernel/engine/policy/simulation.ts";
import { EXIT } from "./exit.ts";
import { print, printJson, visible } from "./output.ts";
import { ask, readText, remoteServer } from "./remote-server.ts";
import { wholeNumber } from "./setting-flags.ts";

interface Options {
  readonly url: string;
  readonly keyEnv?: string;
  readonly tool?: string;
  readonly tenant?: string;
  readonly call?: string;
  readonly since?: string;
  readonly limit: string;
  readonly json?: true;
}

const ASK_MS = 15_000;
const LIMIT_MAX = 1_000;

/** `glovebox policy`: the effect of a policy. */
export function policyCommand(): Command {
  const simulate = new Command("simulate")
    .argument("<file>", "YAML or JSON file with the rules, or a configuration with a policy")
    .description("show what a running server's tools and stored calls would be granted by a policy; changes nothing")
    .option("--tool <name>", "show what this tool would be granted")
    .option("--tenant <name>", "tenant of its calls")
    .option("--call <id>", "show what the capability calls of this stored call would be answered")
    .option("--since <time>", "compare stored calls that began then or later (default: in the last 24 hours)")
    .option(
      "--limit <number>",
      `stored calls that are compared, at most ${LIMIT_MAX}`,
      wholeNumber(0, LIMIT_MAX),
      "1000",
    )
    .option("--url <url>", "the server's address", "http://127.0.0.1:8080")
    .option("--key-env <name>", "environment variable with a key that has the roles admin and calls")
    .option("--json", "print JSON")
    .action(runSimulation);
  return new Command("policy").description("what a policy would do").addCommand(simulate);
}

async function runSimulation(file: string, { url, keyEnv, json, ...options }: Options): Promise<void> {
  const { tool, tenant, call: id, since, limit } = options;
  const call = { tool, tenant, id };
  const hasCall = Object.values(call).some((value) => value !== undefined);
  const body = { policy: await readText(file), ...(hasCall ? { call } : {}), since, limit: Number(limit) };
  const response = await ask(remoteServer(url, keyEnv), {
    path: "v1/policy/simulations",
    accept: "application/json",
    method: "POST",
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(ASK_MS),
    role: "admin",
    missing: "such tool or stored call",
  });
  const simulation = (await response.json()) as PolicySimulation;
  const isWrong = simulation.findings.some((finding) => finding.tool === null);
  if (isWrong) process.exitCode = EXIT.INVALID;
  if (json === true) return printJson(simulation);
  for (const line of linesOf(simulation, file)) print(visible(line));
}

function linesOf({ findings, grants, asks, changes, compared }: PolicySimulation, file: string): string[] {
  const { calls, isComplete } = compared;
  return [
    ...findings.map(({ tool, pointer, reason, line, column }) => {
      const place = line === undefined ? `${tool ?? "policy"}${pointer}` : `${file}:${line}:${column ?? 1}`;
      return `${place}  ${reason}`;
    }),
    ...grants.map(({ capability, granted, from }) => `granted  ${capability}  ${granted}  (${from})`),
    ...asks.map(({ capability, method, target, was, outcome, rule }) =>
      [outcome, `${capability}.${method}`, target ?? "-", `was ${was}`, rule ?? ""].join("  ").trimEnd(),
    ),
    ...changes.map(({ id, tool, tenant, capability, target, was, would, rule }) => {
      const words = [
        `${was} -> ${would}`,
        id,
        tool,
        tenant || "-",
        capability,
        target ?? "-",
        `(${rule ?? "no rule"})`,
      ];
      return words.join("  ");
    }),
    `${changes.length} changes in ${calls} stored calls${isComplete ? "" : ", of which there are more"}`,
  ];
}
