import { type AskHost, openFace } from "./face.ts";

interface CallOptions {
  /** Hears of what the handler tells while it works. */
  readonly onProgress?: (value: unknown) => void;
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
  onProgress: (value: unknown) => void,
  ask: AskHost,
): Promise<unknown> {
  const begun = (await ask(capability, `${method}$begin`, args)) as { readonly stream: number };
  for (let more = true; more;) {
    const next = (await ask(capability, `${method}$next`, begun)) as { values: readonly unknown[]; more: boolean };
    for (const value of next.values) onProgress(value);
    more = next.more;
  }
  return ask(capability, `${method}$end`, begun);
}
