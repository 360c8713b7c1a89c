import type { Scenario } from "../scenario.ts";
import { capability } from "./capability.ts";
import { childCall } from "./child-call.ts";
import { codeModeScenario } from "./code-mode.ts";
import { coldStart } from "./cold-start.ts";
import { contracts } from "./contracts.ts";
import { cpuTool } from "./cpu-tool.ts";
import { dispatch } from "./dispatch.ts";
import { failover } from "./failover.ts";
import { fetch } from "./fetch.ts";
import { http } from "./http.ts";
import { httpFlood } from "./http-flood.ts";
import { isolation } from "./isolation.ts";
import { keeping } from "./keeping.ts";
import { keys } from "./keys.ts";
import { kv } from "./kv.ts";
import { memory } from "./memory.ts";
import { metrics } from "./metrics.ts";
import { mixedLoad } from "./mixed-load.ts";
import { modules } from "./modules.ts";
import { openLoop } from "./open-loop.ts";
import { overload } from "./overload.ts";
import { paths } from "./paths.ts";
import { payload } from "./payload.ts";
import { python } from "./python.ts";
import { queue } from "./queue.ts";
import { redaction } from "./redaction.ts";
import { sandbox } from "./sandbox.ts";
import { scheduler } from "./scheduler.ts";
import { schemas } from "./schemas.ts";
import { tracing } from "./tracing.ts";
import { wasi } from "./wasi.ts";

/** Every benchmark, in the order in which they run. */
export const SCENARIOS: readonly Scenario[] = [
  dispatch,
  scheduler,
  paths,
  isolation,
  payload,
  capability,
  childCall,
  codeModeScenario,
  kv,
  fetch,
  redaction,
  contracts,
  modules,
  schemas,
  cpuTool,
  coldStart,
  wasi,
  memory,
  python,
  metrics,
  tracing,
  keeping,
  openLoop,
  mixedLoad,
  overload,
  http,
  keys,
  httpFlood,
  sandbox,
  failover,
  queue,
];
