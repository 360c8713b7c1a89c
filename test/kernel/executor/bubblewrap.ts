import { Sandbox } from "../../../src/kernel/executor/process/sandbox.ts";

const sandbox = new Sandbox("auto");
await sandbox.prepare();

/** Whether there is a sandbox here, and what to write behind the name of a test that needs one and is skipped. */
export const works = sandbox.state.kind === "bubblewrap";
export const unless = sandbox.state.kind === "off" ? ` (not here: ${sandbox.state.reason})` : "";

/** Those of the modes that can be had here, each of them certainly: `auto` would not say which it was. */
export const MODES = works ? (["require", "off"] as const) : (["off"] as const);
