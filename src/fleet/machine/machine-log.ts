import type { EmitExecutorEvent } from "../../kernel/executor/executor.ts";
import type { RedisListener } from "../../kernel/store/outage.ts";

/** A sink for log lines, such as a pino logger. */
export interface MachineLogger {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

/** Logs the rare events of a machine's executor. */
export function logMachine(logger: MachineLogger | undefined): EmitExecutorEvent {
  return (name, event) => {
    switch (name) {
      case "executor:start":
        return logger?.info(event, "an executor process started serving");
      case "executor:recycle":
        return logger?.info(event, "an executor process is being replaced by a fresh one");
      case "executor:lost":
        return logger?.warn(event, "an executor was lost and replaced");
      case "executor:delay":
        return logger?.warn(event, "executors crash repeatedly; the next start is delayed");
      case "tool:quarantine":
        return logger?.warn(event, "a tool crashed an executor and is quarantined");
      case "tool:refuse":
        return logger?.warn(event, "calls of a quarantined tool are refused for a tenant");
      case "tool:clear":
        return logger?.info(event, "a tool left quarantine");
      default:
    }
  };
}

/** Logs when Redis cannot be used, and when it can again. */
export function logRedis(logger: MachineLogger | undefined): RedisListener {
  return {
    onDown: ({ message, ...event }) => logger?.warn(event, message),
    onUp: (event) => logger?.warn(event, "Redis can be used again"),
  };
}
