import { say } from "./output.ts";

const SHELL = "/bin/sh";
/**
 * Runs a command as a shell's child, to which it passes signals. A waiting shell reaps all orphans that it inherits; a
 * signal ends `wait` early, which is then repeated.
 */
const SCRIPT = `
exec 3<&0
"$0" "$@" <&3 3<&- &
child=$!
exec 3<&- </dev/null
trap 'kill -TERM $child; again=1' TERM
trap 'kill -INT $child; again=1' INT
trap 'kill -HUP $child; again=1' HUP
again=1
while [ $again = 1 ]; do again=0; wait $child; code=$?; done
exit $code
`;

/**
 * If this is the first process of a container, a shell replaces it, and this command runs again below the shell. The
 * first process has to reap the processes of others, such as those of an ended executor; Node reaps only its own, so
 * that each of the others would keep its id for ever.
 */
export function leaveFirstPlace(): void {
  if (process.pid !== 1 || process.execve === undefined) return;
  const own = [process.execPath, ...process.execArgv, ...process.argv.slice(1)];
  try {
    process.execve(SHELL, [SHELL, "-c", SCRIPT, ...own], process.env as Record<string, string>);
  } catch {
    say(
      `glovebox: warning: this is the first process of its container, and there is no ${SHELL} to reap processes that have ` +
        "ended: start the container with an init (docker run --init, or shareProcessNamespace of a pod)",
    );
  }
}
