import { type AskHost, openFace } from "./face.ts";

/** Called with each progress value of a handler. `missed`: number of values dropped before it, for lack of space. */
type OnProgress = (value: unknown, more: { readonly missed: number }) => void;

interface CallOptions {
  /** Called with the handler's progress values. */
  readonly onProgress?: OnProgress;
}

interface Told {
  readonly values: readonly unknown[];
  readonly missed: number;
  readonly more: boolean;
}

/** `await host.<capability>.<method>(args, { onProgress })`: the methods of an embedder's own capability. */
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
      // The oldest values are dropped first, so all missing ones came before the first of these.
      next.values.forEach((value, at) => onProgress(value, { missed: at === 0 ? next.missed : 0 }));
      more = next.more;
    }
  } catch (error) {
    // Frees the handler's slot. Its own end is ignored: the error to report is the one caught here.
    ask(capability, `${method}$end`, begun).catch(() => undefined);
    throw error;
  }
  return ask(capability, `${method}$end`, begun);
}
