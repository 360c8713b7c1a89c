import { readFileSync } from "node:fs";
import { join } from "node:path";
import { linkedFolder, ROOT } from "./linked-folder.ts";
import { commandsOf, readPage, skipOf } from "./markdown.ts";

interface ExampleManifest {
  readonly scripts: Readonly<Record<string, string>>;
  readonly dependencies: Readonly<Record<string, string>>;
}

/** What an example says that it prints, and what it does. */
export interface ExampleRun {
  readonly expected: string;
  readonly printed: string;
}

/** Runs the first command of an example's README, `npm start` or `npm test`, with the packages that its manifest names. */
export async function runExample(name: string, environment: NodeJS.ProcessEnv = {}): Promise<ExampleRun> {
  const from = join(ROOT, "examples", name);
  const { scripts, dependencies } = JSON.parse(readFileSync(join(from, "package.json"), "utf8")) as ExampleManifest;
  const blocks = readPage(`examples/${name}/README.md`).blocks.filter((block) => block.language === "sh");
  const [command] = blocks.filter((block) => skipOf(block) === undefined).flatMap(commandsOf);
  const script = scripts[/npm (start|test)$/.exec(command?.line ?? "")?.[1] ?? ""];
  if (command === undefined || script === undefined) throw new Error(`examples/${name} has no command that is run`);
  using folder = linkedFolder(
    Object.keys(dependencies).filter((one) => one !== "glovebox"),
    from,
  );
  const printed = await folder.run("sh", ["-c", script], environment);
  return { expected: command.prints.join("\n"), printed: printed.trimEnd() };
}
