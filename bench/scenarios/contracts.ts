import { type Contract, CONTRACTS } from "../../src/standard/contracts.ts";
import { emptyMetadata, type ToolCall, type ToolResult } from "../../src/kernel/base/result.ts";
import { measure, type Subject } from "../sampling.ts";
import type { Scenario } from "../scenario.ts";

/** Clocks are too coarse for one of them. */
const CALLS = 100;
/** Different ones, taken in turns. */
const VARIETY = 16;
const JSON_ALONE = "JSON.parse and JSON.stringify";

/** What speaking a contract adds to a call: its message is read and its result written, or an answer of a tool is read. */
export const contracts: Scenario = {
  name: "contracts",
  description: `reading ${CALLS} calls and writing their results, and reading ${CALLS} answers of tools, in each contract`,
  smoke: { states: ["quiet"], rounds: 1, sampleMs: 20 },
  full: { states: ["quiet", "busy"], rounds: 5, sampleMs: 300 },
  async run(context) {
    const subjects = [...CONTRACTS.values()].flatMap((contract) => [speaking(contract), answering(contract)]);
    return await measure(context, {
      subjects: [...subjects, baseline()],
      expected,
      latency: { name: "hundred_calls_us", unit: "us" },
    });
  },
};

function speaking(contract: Contract): Subject {
  const messages = CALLS_MADE.map((call) => contract.writeCall(call));
  return subject(`${contract.name}, call and result`, (at) => {
    const call = contract.readCall(messages[at]);
    const result = RESULTS[at];
    const written = result && contract.writeResult(result);
    return written === undefined ? Number.NaN : Number(call.arguments["days"]);
  });
}

function answering(contract: Contract): Subject {
  const messages = RESULTS.map((result) => contract.writeResult(result));
  return subject(`${contract.name}, answer`, (at) => {
    const outcome = contract.readResult(messages[at]);
    return outcome.ok ? (outcome.output as Forecast).days : Number.NaN;
  });
}

/** The least that anybody does who takes a call from a text and answers with one. */
function baseline(): Subject {
  const texts = CALLS_MADE.map((call) => JSON.stringify(call));
  const alone = subject(JSON_ALONE, (at) => {
    const call = JSON.parse(texts[at] ?? "") as ToolCall;
    const written = JSON.stringify(RESULTS[at]?.output);
    return written === undefined ? Number.NaN : Number(call.arguments["days"]);
  });
  return { ...alone, against: [] };
}

/** The work a hundred times, with one message after the other. */
function subject(name: string, work: (at: number) => number): Subject {
  const run = (index: number): number => {
    let sum = 0;
    for (let nth = 0; nth < CALLS; nth++) sum += work((index + nth) % VARIETY);
    return sum;
  };
  return { name, against: [JSON_ALONE], sync: true, run };
}

function expected(index: number): number {
  let sum = 0;
  for (let nth = 0; nth < CALLS; nth++) sum += daysAt((index + nth) % VARIETY);
  return sum;
}

interface Forecast {
  readonly days: number;
}

const daysAt = (at: number): number => at + 1;

const CALLS_MADE = Array.from({ length: VARIETY }, (_, at): ToolCall => ({
  id: `call-${at}`,
  name: "get_forecast",
  arguments: { city: "Paris, France", days: daysAt(at), units: "celsius", options: { hourly: true, fields: ["rain"] } },
}));

const RESULTS = CALLS_MADE.map(({ id = "", name }, at): ToolResult => ({
  success: true,
  output: {
    days: daysAt(at),
    forecast: [
      { high: 25, low: 15, sky: "sunny" },
      { high: 26, low: 16, sky: "cloudy" },
    ],
  },
  error: null,
  metadata: emptyMetadata(id, name, 0),
}));
