/** A recorded event with its data. */
export interface RecordedEvent {
  readonly event: string;
  readonly data: unknown;
}

/** Records events: those it gets as a hook (`record`), and those a test emits itself (`emit`). */
export class EventRecorder {
  #events: RecordedEvent[] = [];

  /** A hook for every event; lets every call proceed. */
  readonly record = (event: string, data: unknown): { readonly action: "continue" } => {
    this.#events.push({ event, data });
    return { action: "continue" };
  };

  /** Same as `emit` of Amplifier's hooks, for code under test that emits events. */
  readonly emit = async (event: string, data: unknown = {}): Promise<{ readonly action: "continue" }> => {
    return this.record(event, data);
  };

  clear(): void {
    this.#events = [];
  }

  /** Recorded events in order: all, or those of one name. */
  get_events(type?: string): readonly RecordedEvent[] {
    return this.#events.filter(({ event }) => type === undefined || event === type);
  }
}
