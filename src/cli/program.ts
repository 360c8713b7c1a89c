import { Command } from "commander";
import { readVersion } from "../kernel/base/check-node.ts";
import { agentspaceCommand } from "./agentspace.ts";
import { benchCommand } from "./bench.ts";
import { callsCommand } from "./calls.ts";
import { codeCommand } from "./code.ts";
import { completeCommand } from "./complete.ts";
import { configCommand } from "./config.ts";
import { connectorsCommand } from "./connectors.ts";
import { docsCommand } from "./docs.ts";
import { doctorCommand, versionCommand } from "./doctor.ts";
import { explainCommand } from "./explain.ts";
import { addHelpTexts } from "./help-texts.ts";
import { keysCommand } from "./keys.ts";
import { listCommand, listSupportedCommand, listToolsCommand } from "./list.ts";
import { mcpCommand } from "./mcp.ts";
import { newCommand } from "./new.ts";
import { planCommand } from "./plan.ts";
import { policyCommand } from "./policy.ts";
import { snippetsCommand } from "./snippets.ts";
import { pythonCommand } from "./python.ts";
import { redisCommand } from "./redis.ts";
import { replayCommand } from "./replay.ts";
import { runCommand } from "./run.ts";
import { serveCommand } from "./serve.ts";
import { testCommand } from "./test.ts";
import { topCommand } from "./top.ts";
import { typesCommand } from "./types.ts";
import { moduleCommand, validateCommand } from "./validate.ts";
import { workerCommand } from "./worker.ts";

/** The command line: `glovebox` and every command below it. */
export function createProgram(): Command {
  const program = new Command("glovebox")
    .description("Runs untrusted tools in V8 isolates.")
    .version(readVersion())
    .showHelpAfterError("(see --help)");
  const commands = [
    newCommand(),
    serveCommand(),
    workerCommand(),
    redisCommand(),
    topCommand(),
    callsCommand(),
    keysCommand(),
    connectorsCommand(),
    mcpCommand(),
    runCommand(),
    codeCommand(),
    planCommand(),
    pythonCommand(),
    listCommand(),
    listToolsCommand(),
    listSupportedCommand(),
    typesCommand(),
    explainCommand(),
    policyCommand(),
    snippetsCommand(),
    replayCommand(),
    agentspaceCommand(),
    testCommand(),
    validateCommand(),
    moduleCommand(),
    configCommand(),
    docsCommand(),
    completeCommand(() => program),
    doctorCommand(),
    benchCommand(),
    versionCommand(),
  ];
  for (const command of commands) {
    program.addCommand(command.copyInheritedSettings(program));
  }
  addHelpTexts(program);
  return program;
}
