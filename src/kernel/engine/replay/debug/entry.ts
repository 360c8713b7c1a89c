import { once } from "node:events";
import { type Prelude, textsOf } from "../../../base/protocol/prelude.ts";
import type { Recording } from "../recording.ts";
import { DebuggedCall } from "./debugged-call.ts";
import { giveUpPowers } from "./powers.ts";

/**
 * Entry of the process that debugs a recorded call: receives the prelude and the recording, sends log lines and the
 * end.
 */
const [message] = (await once(process, "message")) as [{ readonly prelude: Prelude; readonly recording: Recording }];
const send = process.send?.bind(process);
// To print an uncaught error, Node would call functions of the tool and pass them objects of its own.
process.on("unhandledRejection", () => undefined);
process.setUncaughtExceptionCaptureCallback(() => process.exit(1));
// A published package has them in a file, which is read while files still can be.
const parts = { texts: textsOf(message.prelude.parts) };
giveUpPowers();
const call = new DebuggedCall({ ...message.prelude, parts }, message.recording, (level, text) =>
  send?.(["log", level, text]),
);
// Disconnect only after the message is sent: pending messages are lost.
send?.(["end", await call.run()], () => process.disconnect?.());
