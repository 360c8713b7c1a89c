import { type AskHost, openFace } from "./face.ts";

/** Hears of a value that a handler tells, and how many before it were left out, because more came than could wait. */
type OnProgress = (value: unknown, more: { readonly missed: number }) => void;

interface CallOptions {
  /** Hears of what the handler tells while it works. */
  readonly onProgress?: OnProgress;
}

interface Told {
  readonly values: readonly unknown[];
  readonly missed: number;
  readonly more: boolean;
}

/** `await host.<capability>.<method>(args, { onProgress })`: the methods of a capability of the embedder's own. */
export function customFace(capability: string, ask: AskHost): object {
  return openFace((method) => (args?: unknown, options?: CallOptions) => {
    const onProgress = options?.onProgress;
    return onProgress === undefined ? ask(capability, method, args) : follow(capability, method, args, onProgress, ask);
  });
}

async function follow(
  capability: string,
  method: string,
  args: unknown,
  onProgress: OnProgress,
  ask: AskHost,
): Promise<unknown> {
  const begun = (await ask(capability, `${method}$begin`, args)) as { readonly stream: number };
  try {
    for (let more = true; more;) {
      const next = (await ask(capability, `${method}$next`, begun)) as Told;
      // The oldest go first, so all that are missing came before the first of these.
      next.values.forEach((value, at) => onProgress(value, { missed: at === 0 ? next.missed : 0 }));
      more = next.more;
    }
  } catch (error) {
    // Nobody waits for the handler any more: its place is given back, and how it ends is not what went wrong.
    ask(capability, `${method}$end`, begun).catch(() => undefined);
    throw error;
  }
  return ask(capability, `${method}$end`, begun);
}
