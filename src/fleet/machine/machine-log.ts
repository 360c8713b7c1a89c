import type { EmitExecutorEvent } from "../../executor/executor.ts";

/** Takes log lines: a pino logger is one. */
export interface MachineLogger {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

/** Writes a line for each rare thing that happens to a machine's executor. */
export function logMachine(logger: MachineLogger | undefined): EmitExecutorEvent {
  return (name, event) => {
    switch (name) {
      case "executor:start":
        return logger?.info(event, "an executor process went to work");
      case "executor:recycle":
        return logger?.info(event, "an executor process makes room for a fresh one");
      case "executor:lost":
        return logger?.warn(event, "an executor was lost and replaced");
      case "executor:delay":
        return logger?.warn(event, "executors are lost so fast that the next one waits");
      case "tool:quarantine":
        return logger?.warn(event, "a tool ended an executor and runs apart from now on");
      case "tool:refuse":
        return logger?.warn(event, "a tool is refused for a while to whom it ended executors");
      case "tool:clear":
        return logger?.info(event, "a tool runs among the others again");
      default:
    }
  };
}
