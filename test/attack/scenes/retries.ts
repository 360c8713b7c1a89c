import { PATIENT_MS } from "../plan.ts";
import { settled, type Stage, wordsOf } from "../stage.ts";
import type { Scene } from "./scene.ts";

/** Runs a tool with retries, and expects what comes of it after so many starts. */
async function retry(stage: Stage, harm: string[], source: string, wanted: unknown, attempts: number): Promise<void> {
  const tool = await stage.put(source, { retries: 2, limits: { wallMs: PATIENT_MS } });
  const lines: string[] = [];
  const onLog = ({ message }: { message: string }) => void lines.push(message);
  const result = await settled(stage.engine.execute({ name: tool, arguments: {} }, { onLog }));
  const got = result?.error?.code ?? result?.output;
  if (got !== wanted) harm.push(`it ended with ${wordsOf(result)}`);
  if (result?.metadata.attempts !== attempts) harm.push(`it was started ${result?.metadata.attempts} times`);
  const late = lines.filter((line) => line.startsWith("late"));
  if (late.length > 0) harm.push(`an earlier run went on: ${late.slice(0, 3).join()}`);
  const next = await settled(stage.engine.execute({ name: tool, arguments: { look: true } }));
  if (next?.output !== "clean") harm.push(`the next call: ${wordsOf(next)}`);
}

/** Code left behind runs only after its run has failed. */
const FAIL = "try { await host.vault.fails(1); } finally { over = true; }";
const tool = (body: string) =>
  `export default async ({ look }, context) => { const { host } = context; if (look) return 'clean'; let over = false; const late = (line) => { if (over) console.log('late ' + line); }; ${body} };`;

/** Runs that fail in a way that may pass, and leave behind whatever a run can. */
export const SCENES: readonly Scene[] = [
  {
    name: "failing runs that leave timers behind",
    act: (stage, harm) =>
      retry(
        stage,
        harm,
        tool(`setTimeout(() => late('timer'), 30); setInterval(() => late('interval'), 1); ${FAIL}`),
        "capability_failed",
        3,
      ),
  },
  {
    name: "failing runs that leave asks behind",
    act: (stage, harm) =>
      retry(
        stage,
        harm,
        tool(`for (let i = 0; i < 20; i++) host.vault.slow(i).then(() => late('answer')); ${FAIL}`),
        "capability_failed",
        3,
      ),
  },
  {
    name: "failing runs that leave promises and microtasks behind",
    act: (stage, harm) =>
      retry(
        stage,
        harm,
        tool(
          `(async () => { for (;;) { await new Promise((d) => setTimeout(d, 1)); late('loop'); } })(); Promise.reject(new Error('left')); ${FAIL}`,
        ),
        "capability_failed",
        3,
      ),
  },
  {
    name: "answers of an earlier run that are asked for in another order",
    act: (stage, harm) =>
      retry(
        stage,
        harm,
        tool(
          "const order = Math.random() < 0.5 ? ['a', 'b'] : ['b', 'a']; await Promise.all(order.map((each) => host.vault.echo(each))); await host.vault.fails(order);",
        ),
        "capability_failed",
        3,
      ),
  },
  {
    name: "runs that loop are not run again",
    act: (stage, harm) => retry(stage, harm, tool("for (;;);"), "cpu_limit", 1),
  },
  {
    name: "runs that say of themselves that they may be run again",
    act: (stage, harm) =>
      retry(
        stage,
        harm,
        tool(
          "throw Object.assign(new Error('mine'), { code: 'capability_failed', retryable: true, name: 'CapabilityError', capability: 'vault' });",
        ),
        "tool_error",
        1,
      ),
  },
  {
    name: "a run that succeeds after two that left a storm",
    act: async (stage, harm) => {
      const source = tool(
        "setInterval(() => console.log('late'), 1); const got = await host.vault.sometimes(1); return got;",
      );
      const name = await stage.put(source, { retries: 5, limits: { wallMs: PATIENT_MS } });
      const result = await settled(stage.engine.execute({ name, arguments: {} }));
      if (result?.output !== "open") harm.push(`it ended with ${wordsOf(result)}`);
    },
  },
];
