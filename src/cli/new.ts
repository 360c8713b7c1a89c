import { Argument, Command, Option } from "commander";

/** Templates of `glovebox new`. */
export const TEMPLATES = {
  tool: "a folder of tools in TypeScript",
  "tool-py": "a folder of tools in Python",
  express: "an Express application with tools",
  fastify: "a Fastify application with tools",
  next: "a Next application with tools",
  hono: "a Hono application with tools",
  agent: "a model that calls tools, with the AI SDK",
  mcp: "tools for clients of the Model Context Protocol",
} as const;

export type TemplateName = keyof typeof TEMPLATES;

interface Options {
  readonly template: TemplateName;
  readonly json?: true;
}

/** `glovebox new`: the files of a new project. */
export function newCommand(): Command {
  const meanings = Object.entries(TEMPLATES).map(([name, what]) => `${name}: ${what}`);
  const template = new Option("--template <name>", `what to begin with: ${meanings.join("; ")}`);
  return new Command("new")
    .alias("init")
    .description("begin a project: write the files of a template, with a tool and tests; overwrites nothing")
    .addArgument(new Argument("[dir]", "folder of the project, which may exist").default("."))
    .addOption(template.choices(Object.keys(TEMPLATES)).default("tool"))
    .option("--json", "print JSON")
    .action(async (dir: string, { template: name, json }: Options) => {
      const { writeTemplate } = await import("./write-template.ts");
      const files = await writeTemplate(name, dir);
      const { forShell, print, printJson } = await import("./output.ts");
      if (json === true) return printJson({ folder: dir, template: name, files });
      for (const file of files) print(file);
      print(`\nnow: ${dir === "." ? "" : `cd ${forShell(dir)} && `}npm install && npm test`);
    });
}
