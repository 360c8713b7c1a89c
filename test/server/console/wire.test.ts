import { expectTypeOf, test } from "vitest";
import type { ConnectorStatus } from "../../../src/kernel/base/connector-report.ts";
import type { CapabilityEvent } from "../../../src/kernel/broker/capability-event.ts";
import type { Declarations } from "../../../src/code-mode/declarations.ts";
import type { RecordVersion } from "../../../src/contrib/agentspace/records.ts";
import type { RecordPage, RegisteredRecord } from "../../../src/contrib/agentspace/registry.ts";
import type { Explanation } from "../../../src/kernel/engine/explanation.ts";
import type { Progress, ToolResult } from "../../../src/kernel/base/result.ts";
import type * as durable from "../../../src/server/console/page/durable-call.ts";
import type * as wire from "../../../src/server/console/page/wire.ts";
import type { CallComparison } from "../../../src/kernel/engine/call-history.ts";
import type { PolicySimulation } from "../../../src/kernel/engine/policy/simulation.ts";
import type { Snippet } from "../../../src/kernel/engine/snippets/snippet.ts";
import type { CallReplay } from "../../../src/kernel/engine/replay/call-replays.ts";
import type { CallPage, StoredCall } from "../../../src/kernel/store/calls/call-record.ts";
import type { DurableCall, WaitSettlement } from "../../../src/kernel/store/calls/durable/durable-call.ts";
import type { StatsSnapshot } from "../../../src/server/http/stats.ts";
import type { ToolInfo } from "../../../src/kernel/tool/definition.ts";
import type { ProgramProblem } from "../../../src/kernel/tool/program/problem.ts";

test("what the console reads is what the server answers", () => {
  expectTypeOf<StatsSnapshot>().toExtend<wire.Stats>();
  expectTypeOf<ConnectorStatus>().toExtend<wire.Connector>();
  expectTypeOf<Explanation>().toExtend<wire.Explanation>();
  expectTypeOf<ToolResult>().toExtend<wire.ToolResult>();
  expectTypeOf<StoredCall>().toExtend<wire.StoredCall>();
  expectTypeOf<CallPage>().toExtend<wire.CallPage>();
  expectTypeOf<CallComparison>().toExtend<wire.Comparison>();
  expectTypeOf<CallReplay>().toExtend<wire.Replay>();
  expectTypeOf<PolicySimulation>().toExtend<wire.Simulation>();
  expectTypeOf<Progress>().toExtend<wire.Progress>();
  expectTypeOf<CapabilityEvent>().toExtend<wire.CapabilityCall>();
  expectTypeOf<RecordPage>().toExtend<wire.RecordPage>();
  // The server sends a record and its registration as one object.
  expectTypeOf<RegisteredRecord["record"] & Pick<RegisteredRecord, "registration">>().toExtend<wire.RegisteredRecord>();
  expectTypeOf<RecordVersion>().toExtend<wire.RecordVersion>();
  expectTypeOf<Declarations>().toExtend<wire.Declarations>();
  expectTypeOf<Snippet>().toExtend<wire.Snippet>();
  expectTypeOf<ProgramProblem>().toExtend<wire.ProgramProblem>();
  expectTypeOf<Omit<DurableCall, "waits" | "result">>().toExtend<Omit<durable.DurableCall, "waits" | "result">>();
  expectTypeOf<WaitSettlement>().toExtend<durable.Settlement>();
  expectTypeOf<Omit<ToolInfo, "inputSchema" | "outputSchema" | "inferredOutputSchema">>().toExtend<
    Omit<wire.ToolInfo, "inputSchema" | "outputSchema" | "inferredOutputSchema">
  >();
});
