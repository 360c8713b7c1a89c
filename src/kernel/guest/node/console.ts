import { library, type NodeModule } from "./inner/library.ts";

/** `node:console`: the console of the call. */
export function open(): unknown {
  const own = { ...console } as NodeModule;
  own["Console"] = Console;
  return own;
}

/** A console that writes to streams. */
function Console(this: NodeModule, target: unknown, errors?: unknown): void {
  const { stdout, stderr } = isStream(target)
    ? { stdout: target, stderr: errors }
    : ((target ?? {}) as { stdout?: unknown; stderr?: unknown });
  const { createConsole } = library.host.console();
  const write = (level: string, message: string): void => {
    const stream = (level === "warn" || level === "error") && isStream(stderr) ? stderr : stdout;
    if (isStream(stream)) stream.write(`${message}\n`);
  };
  Object.assign(
    this,
    createConsole(write, () => library.host.nowMs(), library.host.shown),
  );
}

function isStream(value: unknown): value is { write(text: string): void } {
  return typeof value === "object" && value !== null && typeof Reflect.get(value, "write") === "function";
}
