import { once } from "node:events";
import type { Prelude } from "../protocol/prelude.ts";
import { readRecording } from "../recording.ts";
import { DebuggedCall } from "./debugged-call.ts";

/** The process in which a recorded call is debugged: it gets the prelude and the recording, and tells lines and the end. */
const [message] = (await once(process, "message")) as [{ readonly prelude: Prelude; readonly recording: string }];
const tell = (kind: string, ...told: string[]): void => void process.send?.([kind, ...told]);
const call = new DebuggedCall(message.prelude, readRecording(message.recording), (level, text) =>
  tell("log", level, text),
);
const outcome = await call.run();
process.send?.(["end", outcome]);
process.disconnect?.();
