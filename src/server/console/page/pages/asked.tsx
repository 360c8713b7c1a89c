import { useSignal } from "@preact/signals";
import type { Ref } from "preact";

interface AskedProps {
  readonly name: string;
  readonly question: string;
  readonly isOff?: boolean;
  /** The button, for the keys of the page. */
  readonly button?: Ref<HTMLButtonElement>;
  readonly act: () => void;
}

/** A button whose action needs confirmation. */
export function Asked({ name, question, isOff = false, button = null, act }: AskedProps) {
  const isAsked = useSignal(false);
  const confirm = (): void => {
    isAsked.value = false;
    act();
  };
  return (
    <div class="row">
      <button
        ref={button}
        type="button"
        class="quiet"
        disabled={isOff}
        aria-expanded={isAsked.value}
        onClick={() => (isAsked.value = !isAsked.value)}
      >
        {name}
      </button>
      {isAsked.value && !isOff && (
        <>
          <span role="status">{question}</span>
          <button type="button" class="primary" onClick={confirm}>
            Confirm
          </button>
        </>
      )}
    </div>
  );
}
