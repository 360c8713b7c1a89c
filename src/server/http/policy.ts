import type { FastifyInstance } from "fastify";
import { GloveboxError } from "../../kernel/base/errors.ts";
import { isObject } from "../../kernel/base/json.ts";
import type { PolicySimulationRequest } from "../../kernel/engine/policy/simulation.ts";
import { sendJson, sendRefusal } from "./answers.ts";
import { SIMULATE_POLICY } from "./api/policy-routes.ts";
import { callerOf, refuseOthers, type Surface } from "./surface.ts";

const SIMULATIONS = "/v1/policy/simulations";
const MEMBERS: readonly string[] = ["policy", "call", "since", "limit"];
/** Simultaneous simulations: each may read 1,000 stored calls. */
const AT_ONCE = 2;

/** Adds the route that simulates a policy without putting it in force. */
export function addPolicy(app: FastifyInstance, { gate }: Surface): void {
  let running = 0;
  app.post(SIMULATIONS, { config: { role: "admin", api: SIMULATE_POLICY } }, async (request, reply) => {
    const { body } = request;
    const odd = isObject(body) ? Object.keys(body).find((name) => !MEMBERS.includes(name)) : "the body";
    if (odd !== undefined) {
      const message = `${odd.slice(0, 64)} is not known; the body is an object with ${MEMBERS.join(", ")}`;
      return sendRefusal(reply, "invalid_arguments", message);
    }
    if (running >= AT_ONCE) return sendRefusal(reply, "queue_full", `${AT_ONCE} simulations run already; try again`);
    running++;
    try {
      return await sendJson(reply, 200, await gate.simulatePolicy(callerOf(request), body as PolicySimulationRequest));
    } catch (error) {
      if (error instanceof GloveboxError) return await sendRefusal(reply, error.code, error.message);
      if (error instanceof RangeError) return await sendRefusal(reply, "invalid_arguments", error.message);
      throw error;
    } finally {
      running--;
    }
  });
  refuseOthers(app, SIMULATIONS, ["POST"]);
}
