import { Command } from "commander";
import { parseForWriting } from "../kernel/base/exact-json.ts";
import { EXIT } from "./exit.ts";
import { CONFIG, TOOLS, openEngine, readConfig, type Sources, withFolder } from "./open-engine.ts";
import { print, printJson } from "./output.ts";
import type { TestCase } from "./test-cases.ts";

interface Options extends Sources {
  readonly recordings?: string;
  readonly update?: true;
  readonly json?: true;
}

/** `glovebox test`: the examples of tools, and recordings of their calls. */
export function testCommand(): Command {
  return withFolder(new Command("test"))
    .description("test tools: run their examples, and replay recorded calls with their code as it is now")
    .option(...TOOLS)
    .option(...CONFIG)
    .option("--recordings <dir>", "folder of recordings (default: recordings in this folder, if present)")
    .option("--update", "write what recorded calls give now into their files, instead of failing")
    .option("--json", "print JSON")
    .action(test);
}

async function test(_dir: string | undefined, { recordings, update, json, ...sources }: Options): Promise<void> {
  await using engine = await openEngine(sources, await readConfig(sources.config), {
    workers: 1,
    executor: { kind: "process", spare: false },
  });
  const { exampleCases, recordingCases } = await import("./test-cases.ts");
  const { lineDiff } = await import("./line-diff.ts");
  const cases: TestCase[] = [];
  const take = async (found: AsyncIterable<TestCase>): Promise<void> => {
    for await (const one of found) {
      cases.push(one);
      if (json === true) continue;
      const state = one.isUpdated ? "updated" : one.ok ? "ok" : "failed";
      print(`${state.padEnd(7)}  ${one.tool}  ${one.name}${one.message === null ? "" : `: ${one.message}`}`);
      if (one.isUpdated || !one.ok) for (const line of lineDiff(one.expected, one.received)) print(`  ${line}`);
    }
  };
  await take(exampleCases(engine));
  await take(recordingCases(engine, recordings, update === true));
  const failed = cases.filter(({ ok }) => !ok).length;
  if (failed > 0 || cases.length === 0) process.exitCode = EXIT.FAILED;
  if (json === true) return printJson({ passed: cases.length - failed, failed, cases: cases.map(asJson) });
  if (cases.length === 0) return print("nothing to test: no tool has examples, and there are no recordings");
  print(`${failed === 0 ? "passed" : "not passed"}: ${cases.length - failed} ok, ${failed} failed`);
}

function asJson({ expected, received, ...rest }: TestCase): object {
  return { ...rest, expected: parseForWriting(expected), received: parseForWriting(received) };
}
