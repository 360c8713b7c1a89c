import { effect, signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { Quiet } from "./elements.tsx";
import { key, takeKey } from "./key.ts";

/** Text of the open dialog beside the field; `null` while it is closed. */
const asked = signal<string | null>(null);

/** Opens the dialog, or replaces the message of an open one. */
export function askForKey(message: string): void {
  asked.value = message;
}

/** A button that opens the dialog, to change or forget the key. */
export function KeyButton() {
  return <Quiet onClick={() => askForKey("")}>{key.value === null ? "Key" : "Key in use"}</Quiet>;
}

export function KeyDialog() {
  const dialog = useRef<HTMLDialogElement>(null);
  const input = useRef<HTMLInputElement>(null);
  useEffect(
    () =>
      effect(() => {
        if (asked.value === null) return dialog.current?.close();
        if (dialog.current?.open !== false || input.current === null) return;
        input.current.value = "";
        dialog.current.showModal();
        input.current.focus();
      }),
    [],
  );
  const close = (): void => void (asked.value = null);
  const use = (text: string | null): void => {
    close();
    takeKey(text);
  };
  const submit = (event: Event): void => {
    event.preventDefault();
    const text = input.current?.value.trim() ?? "";
    if (text !== "") use(text);
  };
  return (
    <dialog ref={dialog} aria-labelledby="key-heading" onClose={close}>
      <form class="stack" onSubmit={submit}>
        <h2 id="key-heading">Key</h2>
        <p>What the server lets you do depends on your key. It is kept in this tab until you close it.</p>
        <div class="field">
          <label for="key-input" class="name">
            Key
          </label>
          <input ref={input} id="key-input" type="password" autocomplete="off" spellcheck={false} maxLength={1_024} />
          <p class="error" role="status">
            {asked}
          </p>
        </div>
        <div class="row">
          <button type="submit" class="primary">
            Use this key
          </button>
          <Quiet onClick={() => use(null)}>Forget it</Quiet>
          <Quiet onClick={close}>Cancel</Quiet>
        </div>
      </form>
    </dialog>
  );
}
