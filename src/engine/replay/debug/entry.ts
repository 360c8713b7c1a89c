import { once } from "node:events";
import type { Prelude } from "../../../base/protocol/prelude.ts";
import type { Recording } from "../recording.ts";
import { DebuggedCall } from "./debugged-call.ts";
import { giveUpPowers } from "./powers.ts";

/** The process in which a recorded call is debugged: it gets the prelude and the recording, and tells lines and the end. */
const [message] = (await once(process, "message")) as [{ readonly prelude: Prelude; readonly recording: Recording }];
const send = process.send?.bind(process);
// To describe what nobody caught, Node would call functions of the tool's, and hand them its own.
process.on("unhandledRejection", () => undefined);
process.setUncaughtExceptionCaptureCallback(() => process.exit(1));
giveUpPowers();
const call = new DebuggedCall(message.prelude, message.recording, (level, text) => send?.(["log", level, text]));
// What is still on its way is lost where the two part.
send?.(["end", await call.run()], () => process.disconnect?.());
