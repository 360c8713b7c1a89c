import "../kernel/base/check-node.ts";
export { type CheckResult, conformance, type ConformanceOptions } from "./conformance.ts";
export { type FaultOptions, faults, type FaultyRunner, type FaultTarget, type QueueFullOptions } from "./faults.ts";
export { MockToolProvider } from "./mock-tool-provider.ts";
export { EventRecorder, type RecordedEvent } from "./event-recorder.ts";
export { MockTool, type MockToolOptions } from "./mock-tool.ts";
export { type MountRecord, TestCoordinator } from "./test-coordinator.ts";
