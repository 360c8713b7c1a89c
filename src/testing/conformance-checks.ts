import { isDeepStrictEqual } from "node:util";
import { type Contract, ContractError, CONTRACTS } from "../standard/contracts.ts";
import { xaibo } from "../contrib/xaibo/contract/xaibo.ts";
import { lintTools } from "../contrib/xaibo/lint.ts";
import type { Engine } from "../kernel/engine/engine.ts";
import type { ErrorCode } from "../kernel/base/errors.ts";
import type { ToolInfo } from "../kernel/tool/definition.ts";
import type { ToolResult } from "../kernel/base/result.ts";
import { wrongInput } from "./sample-input.ts";

/** Subject of the checks. */
export interface Conduct {
  readonly engine: Engine;
  readonly info: ToolInfo;
  /** Valid arguments; empty if none were given and none could be generated. */
  readonly inputs: readonly Readonly<Record<string, unknown>>[];
  /** Whether the author gave the arguments. */
  readonly isGiven: boolean;
  readonly isDeterministic: boolean;
}

interface Verdict {
  readonly ok: boolean;
  readonly message: string;
}

type Check = (conduct: Conduct) => Verdict | Promise<Verdict>;

/** Number of concurrent calls. */
const AT_ONCE = 16;
const NO_INPUTS = fail("no arguments could be made from the schema; give some as `inputs`");

/** Checks in order: each may rely on those before it. */
export const CHECKS: readonly (readonly [name: string, check: Check])[] = [
  ["definition", checkDefinition],
  ["schema", checkSchema],
  ["valid input", checkValid],
  ["same again", checkAgain],
  ["invalid input", checkInvalid],
  ["output", checkOutput],
  ["cancel", checkCancel],
  ["concurrency", checkConcurrency],
  ["contracts", checkContracts],
];

function checkDefinition({ info }: Conduct): Verdict {
  const findings = lintTools([xaibo.writeTool(info)]);
  const lines = findings.map(({ severity, pointer, message }) => `${severity}: ${pointer.slice(2)} ${message}`);
  const ok = findings.every(({ severity }) => severity !== "error");
  return { ok, message: lines.length === 0 ? "nothing to say of it" : lines.join("\n") };
}

/** Registration has compiled the schema; models and other contracts also require an object. */
function checkSchema({ info: { inputSchema } }: Conduct): Verdict {
  if (typeof inputSchema === "object" && inputSchema["type"] === "object") return pass("it describes an object");
  return fail('the inputSchema must have the type "object": arguments are one');
}

async function checkValid(conduct: Conduct): Promise<Verdict> {
  if (conduct.inputs.length === 0) return NO_INPUTS;
  const results = await runAll(conduct);
  const failed = results.find(({ success }) => !success);
  if (failed === undefined) return pass(`${results.length} ended well`);
  const advice = conduct.isGiven ? "" : "; the arguments were made from the schema, give better ones as `inputs`";
  return fail(`${describe(failed)}${advice}`);
}

/** Repeats the calls in reverse order: if state leaks between calls, a result depends on those before it. */
async function checkAgain(conduct: Conduct): Promise<Verdict> {
  if (!conduct.isDeterministic) return pass("not looked at: the tool does not promise it");
  if (conduct.inputs.length === 0) return NO_INPUTS;
  const first = await runAll(conduct);
  const second = await runAll({ ...conduct, inputs: conduct.inputs.toReversed() });
  const at = first.findIndex((result, index) => !isSame(result, second.at(-1 - index)));
  if (at < 0) return pass("the same arguments gave the same result");
  return fail(
    `arguments ${at} gave another result the second time: does state leak from call to call? Where the tool depends on ` +
      "time or chance, say `isDeterministic: false`",
  );
}

async function checkInvalid({ engine, info }: Conduct): Promise<Verdict> {
  const input = wrongInput(info.inputSchema);
  if (input === null) return pass("any arguments are right");
  const { error } = await engine.execute({ name: info.name, arguments: { ...input } });
  if (error?.code === "invalid_arguments") return pass(error.message);
  return fail(`wrong arguments ended with ${error?.code ?? "success"} instead of invalid_arguments`);
}

async function checkOutput(conduct: Conduct): Promise<Verdict> {
  const bad: readonly (ErrorCode | undefined)[] = ["invalid_output", "output_too_large"];
  const results = await runAll(conduct);
  const wrong = results.find(({ error }) => bad.includes(error?.code));
  if (wrong !== undefined) return fail(describe(wrong));
  const bytes = Math.max(0, ...results.map(({ output }) => Buffer.byteLength(JSON.stringify(output))));
  return pass(`at most ${bytes} of ${conduct.info.limits.outputBytes} bytes of JSON`);
}

/** A quick tool may end before its cancellation. Either way the next call must be unaffected. */
async function checkCancel(conduct: Conduct): Promise<Verdict> {
  const { engine, info, inputs } = conduct;
  const [input] = inputs;
  if (input === undefined) return NO_INPUTS;
  const call = () => ({ name: info.name, arguments: { ...input } });
  const early = await engine.execute(call(), { signal: AbortSignal.abort() });
  if (early.error?.code !== "cancelled") return fail(`a call that was cancelled before it began: ${describe(early)}`);
  const plain = await engine.execute(call());
  const controller = new AbortController();
  const running = engine.execute(call(), { signal: controller.signal });
  setImmediate(() => controller.abort());
  const stopped = await running;
  if (stopped.error?.code !== "cancelled" && !isSame(stopped, plain) && conduct.isDeterministic) {
    return fail(`a call that was cancelled ended with: ${describe(stopped)}`);
  }
  const next = await engine.execute(call());
  if (next.error?.code === plain.error?.code) return pass("the next call is as ever");
  return fail(`the call after one that was cancelled: ${describe(next)}`);
}

async function checkConcurrency(conduct: Conduct): Promise<Verdict> {
  const { inputs, isDeterministic } = conduct;
  if (inputs.length === 0) return NO_INPUTS;
  const alone = await runAll(conduct);
  const many = Array.from({ length: Math.max(AT_ONCE, inputs.length) }, (_, at) => at % inputs.length);
  const together = await Promise.all(many.map((at) => run(conduct, inputs[at] ?? {})));
  const at = together.findIndex((result, index) => {
    const expected = alone[many[index] ?? 0];
    return isDeterministic ? !isSame(result, expected) : result.success !== expected?.success;
  });
  const odd = together[at];
  if (odd === undefined) return pass(`${together.length} calls at once ended as each does alone`);
  return fail(`one of ${together.length} calls at once did not end as it does alone: ${describe(odd)}`);
}

async function checkContracts(conduct: Conduct): Promise<Verdict> {
  const { info, inputs } = conduct;
  const [input = {}] = inputs;
  const result = await run(conduct, input);
  const contracts = [...CONTRACTS.values()];
  const problems = contracts.flatMap((contract) => problemsIn(contract, info, input, result));
  if (problems.length > 0) return fail(problems.join("\n"));
  return pass(`its definition, a call and a result survive ${contracts.map(({ name }) => name).join(", ")}`);
}

/** Fields that a contract changes in a round trip without declaring the loss. */
function problemsIn(
  contract: Contract,
  info: ToolInfo,
  input: Readonly<Record<string, unknown>>,
  result: ToolResult,
): readonly string[] {
  const call = { id: "conformance", name: info.name, arguments: { ...input } };
  const differs = (of: "tool" | "call" | "result", field: string, before: unknown, after: unknown) => {
    const isLost = contract.losses.some((loss) => loss.of === of && loss.field === field);
    return isLost || isDeepStrictEqual(before, after) ? [] : [`${contract.name} changes the ${of}'s ${field}`];
  };
  try {
    const tool = contract.readTool(contract.writeTool(info));
    const asked = contract.readCall(contract.writeCall(call));
    const outcome = contract.readResult(contract.writeResult(result));
    return [
      ...differs("tool", "name", info.name, tool.name),
      ...differs("tool", "description", info.description, tool.description),
      ...differs("tool", "inputSchema", info.inputSchema, tool.inputSchema),
      ...differs("call", "name", call.name, asked.name),
      ...differs("call", "arguments", call.arguments, asked.arguments),
      ...differs("result", "success", result.success, outcome.ok),
      ...(outcome.ok ? differs("result", "output", result.output, outcome.output) : []),
    ];
  } catch (error) {
    if (error instanceof ContractError) return [`${contract.name} cannot say it: ${error.message}`];
    throw error;
  }
}

/** Runs every input, one at a time. */
async function runAll(conduct: Conduct): Promise<readonly ToolResult[]> {
  const results: ToolResult[] = [];
  for (const input of conduct.inputs) results.push(await run(conduct, input));
  return results;
}

function run({ engine, info }: Conduct, input: Readonly<Record<string, unknown>>): Promise<ToolResult> {
  return engine.execute({ name: info.name, arguments: { ...input } });
}

/** Compares results without times and logs, which differ per call. */
function isSame(one: ToolResult, other: ToolResult | undefined): boolean {
  return isDeepStrictEqual(
    [one.success, one.output, one.error?.code, one.error?.message],
    [other?.success, other?.output, other?.error?.code, other?.error?.message],
  );
}

function describe({ error }: ToolResult): string {
  return error === null ? "it ended well" : `${error.code}: ${error.message}`;
}

function pass(message: string): Verdict {
  return { ok: true, message };
}

function fail(message: string): Verdict {
  return { ok: false, message };
}
