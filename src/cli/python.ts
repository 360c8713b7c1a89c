import path from "node:path";
import { Command } from "commander";
import type { Requirement } from "../python/runtime/requirement.ts";
import { CliError, EXIT } from "./exit.ts";
import { CONFIG, orUsage, readConfig } from "./open-engine.ts";
import { countOf, print, printJson, say } from "./output.ts";
import { whileWaiting } from "./progress.ts";

interface Options {
  readonly requirements?: readonly string[];
  readonly index?: string;
  readonly pyodide?: string;
  readonly wheels?: string;
  readonly config?: string;
  readonly json?: true;
}

const FILE_BYTES_MAX = 256 * 1024;

/** `glovebox python`: packages for tools in Python. */
export function pythonCommand(): Command {
  const add = new Command("add")
    .description("add packages to the folder of wheels, with all that they require, and write its pylock.toml")
    .argument("[requirements...]", 'packages, as pip takes them: PyYAML, "requests[socks]>=2.32"')
    .option("-r, --requirements <file>", "requirements.txt; may be given several times", collect)
    .option("--index <url>", "package index (default: PIP_INDEX_URL, else https://pypi.org/simple/)")
    .option("--pyodide <url>", "folder of Pyodide's distribution, for compiled wheels (default: that of its CDN)")
    .option("--wheels <dir>", "folder of wheels (default: packages.wheels of the configuration)")
    .option(...CONFIG)
    .option("--json", "print JSON")
    .action(addPackages);
  return new Command("python").description("packages for tools in Python").addCommand(add);
}

function collect(one: string, before: readonly string[] = []): readonly string[] {
  return [...before, one];
}

async function addPackages(given: readonly string[], options: Options): Promise<void> {
  const { resolvePackageOptions } = await import("../kernel/tool/package/options.ts");
  const { PackageIndex, PUBLIC_INDEX } = await import("../python/runtime/package-index.ts");
  const { addWheels } = await import("../python/runtime/add-wheels.ts");
  const { openDistribution } = await import("../python/runtime/distribution.ts");
  const { PackageError } = await import("../kernel/tool/package/step.ts");
  const { packages } = await readConfig(options.config);
  const { folder, isConfigured, ...places } = await orUsage(
    (async () => {
      const { wheels, maxBytes } = resolvePackageOptions(packages);
      const index = new PackageIndex(options.index ?? (process.env["PIP_INDEX_URL"] || PUBLIC_INDEX), maxBytes);
      const distribution = await openDistribution(options.pyodide, maxBytes);
      const folder = options.wheels === undefined ? wheels : path.resolve(options.wheels);
      return { folder, isConfigured: folder === wheels, index, distribution, maxBytes };
    })(),
  );
  if (folder === undefined) {
    const lines = "packages:\n  wheels: ./wheels";
    throw new CliError(
      EXIT.USAGE,
      `no folder of wheels is named: write into glovebox.config.yaml, where tools find it too,\n${lines}\nor name it with --wheels DIR`,
    );
  }
  try {
    const asked = await readAsked(given, options.requirements ?? []);
    if (asked.length === 0)
      throw new CliError(EXIT.USAGE, "no packages: name them, or a file with -r requirements.txt");
    const { wheels, builtIn } = await whileWaiting(() => "reading wheels", addWheels(asked, { folder, ...places }));
    if (options.json === true) return printJson({ wheels, builtIn });
    for (const { name, version, file, isNew } of wheels)
      print(`${isNew ? "added" : "kept "}  ${name} ${version}  ${file}`);
    for (const name of builtIn) print(`${name} is built into the interpreter and needs no wheel`);
    const shown = path.relative("", folder);
    print(`${path.join(shown, "pylock.toml")}: ${countOf(wheels.length, "package")}`);
    if (isConfigured) return;
    say(
      `glovebox: tools get them where the configuration has this folder: packages: { wheels: ${JSON.stringify(shown)} }`,
    );
  } catch (error) {
    throw error instanceof PackageError ? new CliError(EXIT.INVALID, error.message) : error;
  }
}

async function readAsked(given: readonly string[], files: readonly string[]): Promise<readonly Requirement[]> {
  const { readRequirement } = await import("../python/runtime/requirement.ts");
  const { parseRequirements } = await import("../python/runtime/requirements.ts");
  const { readFileAt } = await import("../kernel/tool/package/file.ts");
  const asked = given.map((text) => readRequirement(text, "the command line"));
  for (const file of files) {
    const bytes = await readFileAt(file, file, FILE_BYTES_MAX, true);
    if (bytes === undefined) throw new CliError(EXIT.USAGE, `there is no file ${file}`);
    asked.push(...parseRequirements(bytes.toString("utf8"), file));
  }
  return asked;
}
