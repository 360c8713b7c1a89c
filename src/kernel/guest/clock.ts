/**
 * Time inside a realm. It is constant within a turn, so that a tool cannot measure its neighbours, and a replayed call
 * sees the same times again. It replaces the real clock everywhere.
 */

export interface Clock {
  /** Milliseconds since the epoch. */
  nowMs(): number;
  /** Start of the current call. */
  originMs(): number;
}

// Captured before a tool can change them: a replaced function would receive V8's own functions and could keep them.
const { apply, construct } = Reflect;
const { floor } = Math;
const { defineProperties, defineProperty, getOwnPropertyDescriptor, getPrototypeOf, setPrototypeOf } = Object;

/** `dates` is the prototype of the realm's dates. */
export function installClock(realm: typeof globalThis, clock: Clock, dates: Date): void {
  realm.Date = tamedDate(realm.Date, clock, dates);
  tameDateTimeFormat(realm.Intl.DateTimeFormat, clock);
}

/** The part of `performance` that tools need. */
export function createPerformance(clock: Clock): object {
  class Performance {
    now(): number {
      return clock.nowMs() - clock.originMs();
    }
    get timeOrigin(): number {
      return clock.originMs();
    }
    toJSON(): object {
      return { timeOrigin: this.timeOrigin };
    }
  }
  return new Performance();
}

function tamedDate(RealDate: DateConstructor, clock: Clock, dates: Date): DateConstructor {
  const hidden = RealDate.prototype;
  const tamed = function Date(...args: unknown[]): unknown {
    if (new.target === undefined) return new RealDate(clock.nowMs()).toString();
    const made: object = construct(RealDate, args.length === 0 ? [clock.nowMs()] : args, new.target);
    // V8 falls back to its hidden prototype if `new.target` has no usable one.
    if (hidden !== dates && getPrototypeOf(made) === hidden) setPrototypeOf(made, dates);
    return made;
  };
  const { now } = { now: () => floor(clock.nowMs()) };
  defineProperties(tamed, {
    // Set explicitly, because a bundler renames a function that is named like a global.
    name: { value: "Date" },
    length: { value: 7 },
    prototype: { value: dates, writable: false },
    now: { value: now, writable: true, configurable: true },
    parse: { value: RealDate.parse, writable: true, configurable: true },
    UTC: { value: RealDate.UTC, writable: true, configurable: true },
  });
  hidden.constructor = dates.constructor = tamed;
  return tamed as unknown as DateConstructor;
}

/** Without a date, `format()` and `formatToParts()` use the current time. */
function tameDateTimeFormat(DateTimeFormat: typeof Intl.DateTimeFormat, clock: Clock): void {
  const { prototype } = DateTimeFormat;
  const format: unknown = getOwnPropertyDescriptor(prototype, "format")?.get;
  const formatToParts: unknown = prototype.formatToParts;
  if (typeof format !== "function" || typeof formatToParts !== "function") return;
  // Members of an object, whose names a bundler does not change.
  const tamed = {
    get format() {
      const bound = apply(format, this, []) as (date?: unknown) => string;
      return (date?: unknown) => bound(date === undefined ? clock.nowMs() : date);
    },
    formatToParts(date?: unknown): unknown {
      return apply(formatToParts, this, [date === undefined ? clock.nowMs() : date]);
    },
  };
  for (const name of ["format", "formatToParts"]) {
    defineProperty(prototype, name, { ...getOwnPropertyDescriptor(tamed, name), enumerable: false });
  }
}
