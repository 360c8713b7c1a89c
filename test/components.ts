import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

/** Programs that some tests use and that no npm package brings. */
export interface Component {
  /** The program that is looked for on the `PATH`. */
  readonly program: string;
  /** Its package on Debian and Ubuntu. */
  readonly package: string;
}

export const COMPONENTS = {
  redis: { program: "redis-server", package: "redis-server" },
  // The whole browser can do it as well, with half as much work again.
  chromium: { program: firstOf("chromium-headless-shell", "chromium"), package: "chromium-headless-shell" },
  prometheus: { program: "promtool", package: "prometheus" },
  bubblewrap: { program: "bwrap", package: "bubblewrap" },
  curl: { program: "curl", package: "curl" },
  iproute2: { program: "ip", package: "iproute2" },
  zsh: { program: "zsh", package: "zsh" },
  fish: { program: "fish", package: "fish" },
} as const satisfies Readonly<Record<string, Component>>;

export type ComponentName = keyof typeof COMPONENTS;

/** Names of all components, and of those that this machine lacks. */
export const NAMES = Object.keys(COMPONENTS) as ComponentName[];
export const MISSING: readonly ComponentName[] = NAMES.filter((name) => !isOnPath(COMPONENTS[name].program));

/** True where a missing component is a failure: `GLOVEBOX_TEST_REQUIRE=all`. */
export const REQUIRES_ALL = process.env["GLOVEBOX_TEST_REQUIRE"] === "all";

/** The command that installs components. */
export function installCommand(names: readonly ComponentName[]): string {
  return `apt-get install --no-install-recommends ${names.map((name) => COMPONENTS[name].package).join(" ")}`;
}

/** Components that a test file names in a line of its own: `// needs: redis, chromium`. */
export function componentsOf(text: string): ComponentName[] {
  const line = /^\/\/ needs: (.+)$/m.exec(text)?.[1] ?? "";
  const words = line.split(",").map((word) => word.trim());
  return NAMES.filter((name) => words.includes(name));
}

/** The first of these programs that is on the `PATH`, or else the first. */
function firstOf(program: string, ...others: readonly string[]): string {
  return [program, ...others].find(isOnPath) ?? program;
}

function isOnPath(program: string): boolean {
  return (process.env["PATH"] ?? "").split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}
