import { PatternError } from "../errors.ts";
import { memberOf, pointerSegment } from "../../../kernel/base/json.ts";
import type { PatternResult, Run } from "../run.ts";
import type { RoutingConfig } from "../workflow.ts";
import { askUntil } from "./ask-until.ts";
import { runSteps } from "./chain.ts";

const RETRIES_MAX = 20;
const FORM = 'Answer with JSON of this form: {"route": "NAME"}';

/** An agent chooses one of several chains, whose templates see `router.chosen_route` and `router.response`. */
export async function runRouting({ router, routes }: RoutingConfig, run: Run): Promise<PatternResult> {
  const pointer = "/pattern/config/router";
  const input = run.render(router.input ?? "", {}, `${pointer}/input`);
  const [chosen, asked] = await askUntil(run, {
    agent: router.agent,
    pointer,
    input: (isRepeated) =>
      `${input}\n\n${isRepeated ? `The last answer named no route. ${FORM} and nothing else.` : FORM}`,
    read: readRoute,
    ...(router.max_retries === undefined ? {} : { retries: Math.min(RETRIES_MAX, router.max_retries) }),
    problem: "the router gave no route",
  });
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

function readRoute(answer: unknown): string | null {
  const route = memberOf(answer, "route");
  return typeof route === "string" ? route : null;
}
