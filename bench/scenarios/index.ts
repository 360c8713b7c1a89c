import type { Scenario } from "../scenario.ts";
import { capability } from "./capability.ts";
import { coldStart } from "./cold-start.ts";
import { dispatch } from "./dispatch.ts";
import { http } from "./http.ts";
import { isolation } from "./isolation.ts";
import { memory } from "./memory.ts";
import { metrics } from "./metrics.ts";
import { payload } from "./payload.ts";

/** Every benchmark, in the order in which they run. */
export const SCENARIOS: readonly Scenario[] = [
  dispatch,
  isolation,
  payload,
  capability,
  coldStart,
  memory,
  metrics,
  http,
];
