import { jsonIn } from "../answer-json.ts";
import { field } from "../chat-messages.ts";
import { PatternError } from "../errors.ts";
import { pointerSegment } from "../../../base/json.ts";
import type { PatternResult, RanStep, Run } from "../run.ts";
import type { RoutingConfig } from "../workflow.ts";
import { runSteps } from "./chain.ts";

const RETRIES = 2;
const RETRIES_MAX = 20;
const FORM = 'Answer with JSON of this form: {"route": "NAME"}';

/** An agent chooses one of several chains, whose templates see `router.chosen_route` and `router.response`. */
export async function runRouting({ router, routes }: RoutingConfig, run: Run): Promise<PatternResult> {
  const pointer = "/pattern/config/router";
  const input = run.render(router.input ?? "", {}, `${pointer}/input`);
  const asked: RanStep[] = [];
  const retries = Math.min(RETRIES_MAX, router.max_retries ?? RETRIES);
  let chosen: string | undefined;
  while (chosen === undefined) {
    if (asked.length > retries) {
      throw new PatternError(`${pointer}: the router gave no route in ${asked.length} answers`);
    }
    const hint = asked.length === 0 ? FORM : `The last answer named no route. ${FORM} and nothing else.`;
    const answer = await run.ask(router.agent, `${input}\n\n${hint}`, pointer);
    asked.push(answer);
    const route = field(jsonIn(answer.response), "route");
    if (typeof route === "string") chosen = route;
  }
  const route = Object.hasOwn(routes, chosen) ? routes[chosen] : undefined;
  if (route === undefined) {
    const known = Object.keys(routes).join(", ");
    throw new PatternError(`${pointer}: the router chose ${JSON.stringify(chosen.slice(0, 100))}; there are ${known}`);
  }
  const values = { router: { chosen_route: chosen, response: asked.at(-1)?.response ?? "" }, chosen_route: chosen };
  const then = `/pattern/config/routes${pointerSegment(chosen)}/then`;
  const ran = await runSteps(route.then ?? [], run, values, then);
  const last_response = ran.at(-1)?.response ?? asked.at(-1)?.response ?? "";
  return { last_response, steps: [...asked, ...ran], values: { ...values, steps: ran } };
}
