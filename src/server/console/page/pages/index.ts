/** All pages but the first: one file, which is smaller than one for each. */
export { Page as Approvals } from "./approvals.tsx";
export { Page as Call } from "./call.tsx";
export { Page as Calls } from "./calls.tsx";
export { Page as Fleet } from "./fleet.tsx";
export { Page as Policy } from "./policy.tsx";
export { Page as Program } from "./program.tsx";
export { Page as Record } from "./record.tsx";
export { Page as Registry } from "./registry.tsx";
export { Page as Tool } from "./tool.tsx";
export { Page as Tools } from "./tools.tsx";
export { Page as WaitingCall } from "./waiting-call.tsx";
