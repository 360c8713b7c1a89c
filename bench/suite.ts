import { startSpinner } from "./baselines/spinner.ts";
import { describeMachine, type Report, type ScenarioReport } from "./report.ts";
import type { Effort, MachineState, Scenario } from "./scenario.ts";
import { SCENARIOS } from "./scenarios/index.ts";

/** What to run. */
export interface SuiteOptions {
  /** Names of scenarios. Default: all. */
  readonly scope?: readonly string[];
  readonly smoke?: boolean;
  /** Instead of each scenario's own number. */
  readonly rounds?: number;
  readonly progress?: (text: string) => void;
}

/** Runs scenarios one after the other. Throws a `RangeError` where a name is unknown; an `Error` on a wrong answer. */
export async function runSuite(options: SuiteOptions = {}): Promise<Report> {
  const chosen = chooseScenarios(options.scope);
  const startedAt = new Date().toISOString();
  const scenarios: ScenarioReport[] = [];
  for (const scenario of chosen) {
    const own = options.smoke ? scenario.smoke : scenario.full;
    const size = { ...own, rounds: options.rounds ?? own.rounds };
    for (const state of size.states) scenarios.push(await runScenario(scenario, size, state, options.progress));
  }
  return { machine: describeMachine(), startedAt, smoke: options.smoke ?? false, scenarios };
}

/** The scenarios with these names; an empty list selects all. Throws a `RangeError` for an unknown name. */
export function chooseScenarios(scope: readonly string[] = []): readonly Scenario[] {
  for (const name of scope) {
    if (SCENARIOS.some((scenario) => scenario.name === name)) continue;
    const known = SCENARIOS.map((scenario) => scenario.name).join(", ");
    throw new RangeError(`there is no scenario "${name}"; the scenarios are ${known}`);
  }
  return scope.length === 0 ? SCENARIOS : SCENARIOS.filter(({ name }) => scope.includes(name));
}

async function runScenario(
  scenario: Scenario,
  size: Effort,
  state: MachineState,
  progress: (text: string) => void = () => {},
): Promise<ScenarioReport> {
  progress(`${scenario.name}: ${scenario.description}`);
  await using busy = new AsyncDisposableStack();
  if (state === "busy") busy.use(await startSpinner());
  const findings = await scenario.run({ size, state, progress: (text) => progress(`${scenario.name}, ${text}`) });
  return { name: scenario.name, state, ...findings };
}
