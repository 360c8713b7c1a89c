/** Something that was told, and what of it. */
export interface RecordedEvent {
  readonly event: string;
  readonly data: unknown;
}

/** Remembers events: those it is told of as a hook (`record`), and those that a test makes itself (`emit`). */
export class EventRecorder {
  #events: RecordedEvent[] = [];

  /** Fits wherever a hook does, and lets every call go on. */
  readonly record = (event: string, data: unknown): { readonly action: "continue" } => {
    this.#events.push({ event, data });
    return { action: "continue" };
  };

  /** As hooks' own `emit`: for code under test that wants to tell somebody. */
  readonly emit = async (event: string, data: unknown = {}): Promise<{ readonly action: "continue" }> => {
    return this.record(event, data);
  };

  clear(): void {
    this.#events = [];
  }

  /** What was recorded, in its order: all, or the events of one name. */
  get_events(type?: string): readonly RecordedEvent[] {
    return this.#events.filter(({ event }) => type === undefined || event === type);
  }
}
