import { setTimeout as delay } from "node:timers/promises";
import { PATIENT_MS } from "../plan.ts";
import { settled, type Stage, wordsOf } from "../stage.ts";
import type { Scene } from "./scene.ts";

/**
 * A call that is to be cancelled meets none of its limits before, even if that is late. One that V8 cannot interrupt keeps
 * its worker for all of its processor time.
 */
const LIMITS = { cpuMs: 1_000, wallMs: PATIENT_MS };
const LOOK = "if (input.look) return 'clean';";

/** Starts a call, cancels it after a while, and sees to it that nothing of it is heard any more. */
async function cancel(stage: Stage, harm: string[], body: string, afterMs: readonly number[]): Promise<void> {
  const source = `export default async (input, context) => { const { host } = context; ${LOOK} ${body} };`;
  const tool = await stage.put(source, { limits: LIMITS });
  for (const ms of afterMs) {
    const controller = new AbortController();
    const late: string[] = [];
    let isOver = false;
    const onLog = ({ message }: { message: string }) => {
      if (isOver) late.push(message);
    };
    const call = settled(stage.engine.execute({ name: tool, arguments: {} }, { signal: controller.signal, onLog }));
    // In the same turn of the event loop where no time is to pass.
    if (ms > 0) await delay(ms);
    const askedMs = performance.now();
    controller.abort();
    const result = await call;
    isOver = true;
    const tookMs = performance.now() - askedMs;
    if (result?.error?.code !== "cancelled") harm.push(`cancelled after ${ms} ms: ${wordsOf(result)}`);
    if (tookMs > 2_000) harm.push(`cancelled after ${ms} ms: only ended ${Math.round(tookMs)} ms later`);
    const next = await settled(stage.engine.execute({ name: tool, arguments: { look: true } }));
    if (next?.output !== "clean") harm.push(`the next call after ${ms} ms: ${wordsOf(next)}`);
    await delay(60);
    if (late.length > 0) harm.push(`lines of a call that was cancelled after ${ms} ms: ${late.slice(0, 3).join()}`);
  }
}

const MOMENTS = [0, 1, 5, 20, 60];

export const SCENES: readonly Scene[] = [
  {
    name: "a call that loops, cancelled",
    act: (stage, harm) => cancel(stage, harm, "for (;;);", [0, 20, 60]),
  },
  {
    name: "a call that V8 cannot interrupt, cancelled",
    act: (stage, harm) => cancel(stage, harm, "Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1);", [20]),
  },
  {
    name: "a call that awaits a capability, cancelled",
    act: (stage, harm) => cancel(stage, harm, "for (;;) { await host.vault.slow(1); console.log('late'); }", MOMENTS),
  },
  {
    name: "a call that asks and logs without end, cancelled",
    act: (stage, harm) =>
      cancel(
        stage,
        harm,
        "for (let i = 0; i < 50; i++) { host.vault.echo(i); console.log(i); await new Promise((d) => setTimeout(d, 2)); } return new Promise(() => {});",
        MOMENTS,
      ),
  },
  {
    name: "a call with a listener that loops, cancelled",
    act: (stage, harm) =>
      cancel(
        stage,
        harm,
        "context.signal.addEventListener('abort', () => { for (;;); }); return new Promise(() => {});",
        MOMENTS,
      ),
  },
  {
    name: "a call with a listener that wedges, cancelled",
    act: (stage, harm) =>
      cancel(
        stage,
        harm,
        "context.signal.addEventListener('abort', () => Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1)); return new Promise(() => {});",
        [20],
      ),
  },
  {
    name: "a call with a listener that fills the heap, cancelled",
    act: (stage, harm) =>
      cancel(
        stage,
        harm,
        "context.signal.addEventListener('abort', () => { const m = new Map(); for (let i = 0; ; i++) m.set(i, i); }); return new Promise(() => {});",
        [20],
      ),
  },
  {
    name: "a call with listeners that throw, answer, log, ask and start again, cancelled",
    act: (stage, harm) =>
      cancel(
        stage,
        harm,
        `return new Promise((done) => {
          context.signal.addEventListener('abort', () => { done('answered'); console.log('late'); host.vault.echo(1).then(() => console.log('later')); setInterval(() => console.log('late'), 1); throw new Error('late'); });
        });`,
        MOMENTS,
      ),
  },
  {
    name: "calls that wait in the queue behind long ones, cancelled",
    act: async (stage, harm) => {
      const source = "export default async ({ ms }) => { await new Promise((d) => setTimeout(d, ms)); return ms; };";
      const tool = await stage.put(source);
      const controller = new AbortController();
      const kept = Array.from({ length: 20 }, () =>
        settled(stage.engine.execute({ name: tool, arguments: { ms: 100 } })),
      );
      const options = { signal: controller.signal };
      const dropped = Array.from({ length: 500 }, () =>
        settled(stage.engine.execute({ name: tool, arguments: { ms: 2_000 } }, options)),
      );
      await delay(10);
      controller.abort();
      const codes = new Set((await Promise.all(dropped)).map((result) => result?.error?.code));
      if (codes.size !== 1 || !codes.has("cancelled")) harm.push(`the cancelled calls: ${[...codes].join()}`);
      for (const result of await Promise.all(kept))
        if (result?.output !== 100) harm.push(`another: ${wordsOf(result)}`);
    },
  },
  {
    name: "signals that were aborted before the call",
    act: async (stage, harm) => {
      const tool = await stage.put("export default () => { console.log('ran'); return 1; };");
      const lines: string[] = [];
      const onLog = ({ message }: { message: string }) => void lines.push(message);
      const signal = AbortSignal.abort(
        new Proxy(
          {},
          {
            get: () => {
              throw new Error("odd");
            },
          },
        ),
      );
      const result = await settled(stage.engine.execute({ name: tool, arguments: {} }, { signal, onLog }));
      if (result?.error?.code !== "cancelled" || lines.length > 0) harm.push(`${wordsOf(result)}, ${lines.join()}`);
    },
  },
];
