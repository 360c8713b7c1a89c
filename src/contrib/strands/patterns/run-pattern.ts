import type { PatternResult, Run } from "../run.ts";
import type { Pattern } from "../workflow.ts";
import { runChain } from "./chain.ts";
import { runEvaluator } from "./evaluator.ts";
import { runGraph } from "./graph.ts";
import { runOrchestrator } from "./orchestrator.ts";
import { runParallel } from "./parallel.ts";
import { runRouting } from "./routing.ts";
import { runTasks } from "./tasks.ts";

/** Runs a workflow's agents by its pattern. Rejects with a subclass of `WorkflowError`. */
export async function runPattern({ type, config }: Pattern, run: Run): Promise<PatternResult> {
  switch (type) {
    case "chain":
      return runChain(config, run);
    case "routing":
      return runRouting(config, run);
    case "parallel":
      return runParallel(config, run);
    case "workflow":
      return runTasks(config, run);
    case "evaluator_optimizer":
      return runEvaluator(config, run);
    case "orchestrator_workers":
      return runOrchestrator(config, run);
    case "graph":
      return runGraph(config, run);
  }
}
