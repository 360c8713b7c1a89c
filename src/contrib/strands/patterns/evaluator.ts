import { memberOf } from "../../../kernel/base/json.ts";
import { PatternError } from "../errors.ts";
import type { PatternResult, RanStep, Run } from "../run.ts";
import type { EvaluatorConfig } from "../workflow.ts";
import { askUntil } from "./ask-until.ts";

interface Evaluation {
  readonly score: number;
  readonly issues: readonly string[];
  readonly fixes: readonly string[];
}

const ITERATIONS = 3;
const NOTES_MAX = 100;
const FORM = 'Answer with JSON of this form: {"score": 0 to 100, "issues": ["…"], "fixes": ["…"]}';
const EVALUATE = `Evaluate this draft. ${FORM}\n\n{{ draft }}`;
const REVISE = `Revise this draft, which was given {{ evaluation.score }} of 100 points.

{{ draft }}
{% for issue in evaluation.issues %}
- To mend: {{ issue }}
{% endfor %}
{% for fix in evaluation.fixes %}
- To do: {{ fix }}
{% endfor %}`;

/**
 * A producer's draft is revised until an evaluator's score suffices. Templates see `draft`, `evaluation` and `iteration`;
 * artifacts also `iterations`, `history` and `final_score`.
 */
export async function runEvaluator(config: EvaluatorConfig, run: Run): Promise<PatternResult> {
  const { producer, accept, revise_prompt = REVISE } = config;
  const { min_score, max_iters = ITERATIONS } = accept;
  const root = "/pattern/config";
  const steps: RanStep[] = [];
  const history: object[] = [];
  // The producer's first input is its prompt, filled in.
  let input = run.render(run.promptOf(producer), {}, `/agents/${producer}/prompt`);
  for (let iteration = 1; iteration <= max_iters; iteration++) {
    const produced = await run.ask(producer, input, `${root}/producer`);
    const draft = produced.response;
    const [evaluation, evaluating] = await evaluate(config, run, { draft, iteration });
    steps.push(produced, ...evaluating);
    history.push({ iteration, ...evaluation, draft, draft_preview: draft.slice(0, 100), evaluation });
    const values = { draft, evaluation, iteration };
    if (evaluation.score >= min_score) {
      const ended = {
        iterations: iteration,
        final_score: evaluation.score,
        score: evaluation.score,
        min_score,
        max_iters,
      };
      return { last_response: draft, steps, values: { ...values, ...ended, history, last_evaluation: evaluation } };
    }
    if (iteration < max_iters) input = run.render(revise_prompt, values, `${root}/revise_prompt`);
  }
  throw new PatternError(`${root}/accept: no draft had ${min_score} points after ${max_iters} iterations`);
}

function evaluate(
  { evaluator }: EvaluatorConfig,
  run: Run,
  values: { readonly draft: string; readonly iteration: number },
): Promise<readonly [Evaluation, readonly RanStep[]]> {
  const pointer = "/pattern/config/evaluator";
  const input = run.render(evaluator.input ?? EVALUATE, values, `${pointer}/input`);
  return askUntil(run, {
    agent: evaluator.agent,
    pointer,
    input: (isRepeated) =>
      isRepeated ? `${input}\n\nThe last answer was no evaluation. ${FORM} and nothing else.` : input,
    read: readEvaluation,
    problem: "the evaluator gave no score",
  });
}

function readEvaluation(value: unknown): Evaluation | null {
  const score = memberOf(value, "score");
  if (typeof score !== "number" || !(score >= 0 && score <= 100)) return null;
  return { score, issues: texts(memberOf(value, "issues")), fixes: texts(memberOf(value, "fixes")) };
}

function texts(list: unknown): readonly string[] {
  if (!Array.isArray(list)) return [];
  return list.slice(0, NOTES_MAX).map((item: unknown) => (typeof item === "string" ? item : JSON.stringify(item)));
}
