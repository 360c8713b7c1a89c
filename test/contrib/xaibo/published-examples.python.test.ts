import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { loadAgent } from "../../../src/contrib/xaibo/index.ts";
import { validateModules } from "../../../src/testing/validation/index.ts";
import { createEngine, type Engine } from "../../../src/glovebox/index.ts";
import { xaibo } from "../../../src/contrib/xaibo/contract/xaibo.ts";
import { temporaryFolder } from "../../kernel/tool/temporary.ts";
import { expectPublished, type Published } from "../../conformance/published.ts";
import { type WheelParts, wheelFiles } from "../../python/build-wheel.ts";

const CHECKOUT = process.env["GLOVEBOX_UPSTREAM_XAIBO"];
const HOW = "of GLOVEBOX_UPSTREAM_XAIBO, a clone of https://github.com/XpressAI/xaibo,";
const EXAMPLES_MS = 300_000;

/** An agent that its authors publish, its folder, and calls with what comes of them. */
interface Example {
  readonly agent: string;
  readonly folder: string;
  readonly requirements?: readonly string[];
  readonly calls: readonly (readonly [tool: string, args: Record<string, unknown>, result: unknown])[];
}

const NOW = expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$/);
const CALENDAR = "tools-calendar_tools";

const EXAMPLES: readonly Example[] = [
  {
    agent: "src/xaibo_examples/agents/minimal-tool-user.yaml",
    folder: "src",
    calls: [
      ["xaibo_examples-demo_tools-demo_tools-current_time", {}, NOW],
      ["xaibo_examples-demo_tools-demo_tools-weather", { city: "Tokyo", country: "Japan" }, "Cold. Always."],
      ["xaibo_examples-demo_tools-demo_tools-weather", { city: "Bonn" }, "Something went wrong"],
      ["xaibo_examples-demo_tools-demo_tools-calendar", { date: "1999-01-01" }, "'1999-01-01'"],
    ],
  },
  {
    agent: "examples/livekit_example/agents/example.yml",
    folder: "examples/livekit_example",
    calls: [["tools-example-current_time", {}, NOW]],
  },
  {
    agent: "examples/google_calendar_example/agents/example.yml",
    folder: "examples/google_calendar_example",
    requirements: ["google-sdk"],
    calls: [
      [`${CALENDAR}-list_events`, { days_ahead: 0 }, "days_ahead must be a positive integer"],
      [
        `${CALENDAR}-get_calendar_info`,
        {},
        expect.stringContaining("Credentials file 'credentials.json' not found. Please download"),
      ],
    ],
  },
];

/** Stands for Google's SDK, which signs a user in through a browser: its names are there, and do nothing. */
const GOOGLE: WheelParts = {
  name: "google_sdk",
  files: {
    "google/auth/transport/requests.py": "class Request: pass\n",
    "google/oauth2/credentials.py": "class Credentials: pass\n",
    "google_auth_oauthlib/flow.py": "class InstalledAppFlow: pass\n",
    "googleapiclient/discovery.py": "def build(*_args, **_options): raise NotImplementedError\n",
  },
};

/** Pages whose programs with `@tool` are modules of their own, and how many tools each program has. */
const PAGES = [
  ["docs/how-to/tools/python-tools.md", [3, 2, 2, 3]],
  ["docs/tutorial/building-tools.md", [1, 2, 4]],
  ["docs/reference/modules/tools.md", [2, 2]],
] as const;

async function open(): Promise<{ readonly engine: Engine; readonly folder: string }> {
  const folder = await mkdtemp(join(tmpdir(), "glovebox-xaibo-"));
  for (const [name, bytes] of Object.entries(wheelFiles(GOOGLE))) await writeFile(join(folder, name), bytes);
  const engine = await createEngine({ workers: 1, executor: "threads", packages: { wheels: folder } });
  onTestFinished(async () => {
    await engine.close();
    await rm(folder, { recursive: true });
  });
  return { engine, folder };
}

/** Where the authors' tools do not do all that they are for, and why. */
const GOOGLE_REASON = {
  verdict: "refused",
  why: "Google's SDK is its operator's to give as wheels, and signs its user in through a browser; all before that runs.",
} as const;

test.skipIf(CHECKOUT === undefined)(
  `the published agents and programs ${HOW} have their tools loaded and run`,
  { timeout: EXAMPLES_MS },
  async () => {
    const { engine, folder } = await open();
    const published: Published[] = [];
    for (const example of EXAMPLES) {
      await expectAgent(engine, example);
      const isWhole = example.requirements === undefined;
      const verdict = isWhole ? ({ verdict: "works" } as const) : GOOGLE_REASON;
      published.push({ name: example.agent, loads: "yes", validates: "-", runs: isWhole ? "yes" : "no", ...verdict });
    }
    for (const [page, counts] of PAGES) {
      const programs = programsIn(readFileSync(join(CHECKOUT ?? "", page), "utf8"));
      const tools: number[] = [];
      for (const [at, program] of programs.entries()) {
        const file = join(folder, `page${at}.py`);
        await writeFile(file, program);
        tools.push(await toolsOf(engine, file));
        published.push({
          name: `${page}, program ${at + 1}`,
          loads: "yes",
          validates: "yes",
          runs: "-",
          verdict: "works",
        });
      }
      expect([page, tools]).toEqual([page, counts]);
    }
    const own = "tests/tools/test_python_tools.py";
    expect(await testsOf(engine, own)).toHaveLength(7);
    published.push({ name: own, loads: "yes", validates: "-", runs: "yes", verdict: "works" });
    await expectPublished("xaibo-examples", {
      title: "Xaibo, agents, programs and tests of tools",
      source: "https://github.com/XpressAI/xaibo",
      version: "b98f747",
      given: "Nothing; for the calendar a wheel that has the names of Google's SDK and does nothing.",
      published,
    });
  },
);

async function expectAgent(engine: Engine, { agent, folder, requirements = [], calls }: Example): Promise<void> {
  const text = readFileSync(join(CHECKOUT ?? "", agent), "utf8");
  const { modules, provider } = await loadAgent(engine, text, { folder: join(CHECKOUT ?? "", folder), requirements });
  expect(modules.some(({ state }) => state === "refused")).toBe(false);
  for (const [tool, args, outcome] of calls) {
    const { success, result, error } = await provider.execute_tool(tool, args);
    expect([tool, success ? result : error]).toEqual([tool, outcome]);
  }
  const tools = await provider.list_tools();
  expect(tools.length).toBeGreaterThan(0);
  for (const { name } of tools) await engine.unregister(name);
}

/** Runs the authors' own tests, which ask pytest only for its marks and fixtures; answers the names of all, as they pass. */
async function testsOf(engine: Engine, file: string): Promise<unknown> {
  const read = (path: string): string => readFileSync(join(CHECKOUT ?? "", path), "utf8");
  const demo = "xaibo_examples/demo_tools/test_tools.py";
  const folder = await temporaryFolder({
    "code/function.py": `import inspect
import tests
spec = {"name": "own_tests", "description": "Runs tests."}
async def execute(input):
    found = [one for name, one in vars(tests).items() if name.startswith("test_")]
    for test in found:
        given = [tests.provider()] if "provider" in inspect.signature(test).parameters else []
        await test(*given)
    return [test.__name__ for test in found]
`,
    "code/pytest.py": "fixture = lambda made: made\nclass mark:\n    asyncio = staticmethod(lambda test: test)\n",
    "code/tests.py": read(file),
    [`code/${demo}`]: read(`src/${demo}`),
  });
  await engine.register(folder);
  const { output, error } = await engine.execute({ name: "own_tests", arguments: {} });
  expect(error).toBeNull();
  return output;
}

/** The number of a valid program's tools. */
async function toolsOf(engine: Engine, file: string): Promise<number> {
  const [validation] = await validateModules(engine, file);
  expect(validation?.checks.filter(({ level }) => level === "error")).toEqual([]);
  const [report] = await engine.describe(file);
  return xaibo.readModule(report?.described, "page").length;
}

/** Programs that import the decorator, and so are whole modules. */
function programsIn(page: string): readonly string[] {
  const blocks = [...page.matchAll(/^```python\n(.*?)^```$/gms)].map(([, text = ""]) => text);
  return blocks.filter((text) => /import tool$/m.test(text) && /^@tool$/m.test(text));
}
