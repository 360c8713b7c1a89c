export { EventRecorder, type RecordedEvent } from "./event-recorder.ts";
export { MockTool, type MockToolOptions } from "./mock-tool.ts";
export { type MountRecord, TestCoordinator } from "./test-coordinator.ts";
