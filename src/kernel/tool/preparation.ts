/** Receives the preparation of tools in this process: a starting engine has no API to ask yet. */
export interface PreparationListener {
  /** Called with the number of further tools to prepare. */
  readonly onFound: (count: number) => void;
  /** The source of this name is prepared, or cannot be. */
  readonly onEnded: (name: string) => void;
}

const listeners = new Set<PreparationListener>();

/** Reports all engines' tools to a listener until it is disposed of. */
export function watchPreparation(listener: PreparationListener): Disposable {
  listeners.add(listener);
  return { [Symbol.dispose]: () => void listeners.delete(listener) };
}

/** Reports to all listeners. */
export const preparation: PreparationListener = {
  onFound: (count) => listeners.forEach((listener) => listener.onFound(count)),
  onEnded: (name) => listeners.forEach((listener) => listener.onEnded(name)),
};
