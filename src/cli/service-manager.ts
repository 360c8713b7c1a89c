import { execFile } from "node:child_process";
import { CliError, EXIT } from "./exit.ts";
import { say } from "./output.ts";

/** First file descriptor passed by a service manager, after the standard three. */
const FIRST_FD = 3;
const NOTIFY_MS = 5_000;
/** The notification socket is a Unix datagram socket, which Node does not support; systemd's own command does. */
const COMMAND = "systemd-notify";

/** Notifications to the service manager that started this process, such as systemd; without one, no operation. */
export class ServiceManager implements Disposable {
  readonly #isThere: boolean;
  #watchdog: NodeJS.Timeout | undefined = undefined;
  /** The last notification; they are sent in order. */
  #last: Promise<void> = Promise.resolve();
  #hasFailed = false;

  constructor(environment: NodeJS.ProcessEnv) {
    this.#isThere = (environment["NOTIFY_SOCKET"] ?? "") !== "";
    const { WATCHDOG_USEC, WATCHDOG_PID } = environment;
    const everyMs = Number(WATCHDOG_USEC) / 1_000 / 2;
    if (!this.#isThere || !(everyMs >= 1) || Number(WATCHDOG_PID ?? process.pid) !== process.pid) return;
    this.#watchdog = setInterval(() => void this.#tell("WATCHDOG=1"), everyMs).unref();
  }

  ready(status: string): Promise<void> {
    return this.#tell("READY=1", `STATUS=${status}`);
  }

  reloading(): Promise<void> {
    return this.#tell("RELOADING=1", `MONOTONIC_USEC=${process.hrtime.bigint() / 1_000n}`);
  }

  stopping(): Promise<void> {
    return this.#tell("STOPPING=1", "STATUS=calls that have begun end");
  }

  [Symbol.dispose](): void {
    clearInterval(this.#watchdog);
  }

  #tell(...said: readonly string[]): Promise<void> {
    if (!this.#isThere) return this.#last;
    this.#last = this.#last.then(
      () =>
        new Promise((resolve) => {
          execFile(COMMAND, [`--pid=${process.pid}`, ...said], { timeout: NOTIFY_MS }, (error) => {
            if (error !== null && !this.#hasFailed) say("glovebox: warning: systemd-notify did not work");
            this.#hasFailed ||= error !== null;
            resolve();
          });
        }),
    );
    return this.#last;
  }
}

/** Descriptor of the listening socket passed by the service manager (systemd socket activation), if any. */
export function takeSocket(environment: NodeJS.ProcessEnv): number | undefined {
  const { LISTEN_PID, LISTEN_FDS } = environment;
  // The variables are not for child processes.
  for (const name of ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"]) delete environment[name];
  if (LISTEN_FDS === undefined || Number(LISTEN_PID) !== process.pid) return undefined;
  if (LISTEN_FDS !== "1")
    throw new CliError(EXIT.USAGE, `one socket is served, and LISTEN_FDS hands over ${LISTEN_FDS}`);
  return FIRST_FD;
}
