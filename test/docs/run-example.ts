import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { linkedFolder, ROOT } from "./linked-folder.ts";
import { commandsOf, readPage, skipOf } from "./markdown.ts";

export interface ExampleManifest {
  readonly scripts: Readonly<Record<string, string>>;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

/** What an example says that it prints, and what it does. */
export interface ExampleRun {
  readonly expected: string;
  readonly printed: string;
}

/** All examples, but for those of these names. */
export function exampleNames(without: readonly string[] = []): readonly string[] {
  return readdirSync(join(ROOT, "examples"), { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !without.includes(entry.name))
    .map(({ name }) => name);
}

export function exampleFolder(name: string): string {
  return join(ROOT, "examples", name);
}

export function readManifest(name: string): ExampleManifest {
  return JSON.parse(readFileSync(join(exampleFolder(name), "package.json"), "utf8")) as ExampleManifest;
}

/** The first command of an example's README that is not skipped, `npm start` or `npm test`: its script, and what it prints. */
export function commandOf(name: string): { readonly script: string; readonly prints: string } {
  const blocks = readPage(`examples/${name}/README.md`).blocks.filter((block) => block.language === "sh");
  const [command] = blocks.filter((block) => skipOf(block) === undefined).flatMap(commandsOf);
  const script = /npm (start|test)$/.exec(command?.line ?? "")?.[1];
  if (command === undefined || script === undefined) throw new Error(`examples/${name} has no command that is run`);
  return { script, prints: command.prints.join("\n") };
}

/** Runs an example's command from the sources, with the packages that its manifest names. */
export async function runExample(name: string, environment: NodeJS.ProcessEnv = {}): Promise<ExampleRun> {
  const { scripts, dependencies } = readManifest(name);
  const { script, prints } = commandOf(name);
  using folder = linkedFolder(
    Object.keys(dependencies).filter((one) => one !== "glovebox"),
    exampleFolder(name),
  );
  const printed = await folder.run("sh", ["-c", scripts[script] ?? "false"], environment);
  return { expected: prints, printed: printed.trimEnd() };
}
