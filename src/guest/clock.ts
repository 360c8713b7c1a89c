/**
 * Time inside a realm: it stands still within a turn, so that a tool cannot measure its neighbours, and so that a
 * call run again sees the time it saw before. Everything that would read the real clock reads this one.
 */

export interface Clock {
  /** Milliseconds since the epoch. */
  nowMs(): number;
  /** When the call that runs now began. */
  originMs(): number;
}

export function installClock(realm: typeof globalThis, clock: Clock): void {
  realm.Date = tamedDate(realm.Date, clock);
  tameDateTimeFormat(realm.Intl.DateTimeFormat, clock);
  if (typeof realm.Temporal === "object") tameTemporal(realm.Temporal, clock);
}

/** `performance`, as far as a tool needs it. */
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

function tamedDate(RealDate: DateConstructor, clock: Clock): DateConstructor {
  const tamed = function Date(...args: unknown[]): unknown {
    if (new.target === undefined) return new RealDate(clock.nowMs()).toString();
    return Reflect.construct(RealDate, args.length === 0 ? [clock.nowMs()] : args, new.target);
  };
  const methods = {
    now: () => Math.floor(clock.nowMs()),
    parse: RealDate.parse,
    UTC: RealDate.UTC,
  };
  for (const [name, value] of Object.entries(methods)) {
    Object.defineProperty(tamed, name, { value, writable: true, enumerable: false, configurable: true });
  }
  // A bundler renames a function that is called like a global.
  Object.defineProperty(tamed, "name", { value: "Date", configurable: true });
  Object.defineProperty(tamed, "length", { value: 7, configurable: true });
  Object.defineProperty(tamed, "prototype", { value: RealDate.prototype, writable: false });
  Object.defineProperty(RealDate.prototype, "constructor", { value: tamed, writable: true, configurable: true });
  return tamed as unknown as DateConstructor;
}

/** `format()` and `formatToParts()` without a date mean now. */
function tameDateTimeFormat(DateTimeFormat: typeof Intl.DateTimeFormat, clock: Clock): void {
  const prototype = DateTimeFormat.prototype;
  const format: unknown = Object.getOwnPropertyDescriptor(prototype, "format")?.get;
  const formatToParts: unknown = Reflect.get(prototype, "formatToParts");
  if (typeof format !== "function" || typeof formatToParts !== "function") return;
  Object.defineProperty(prototype, "format", {
    get(this: Intl.DateTimeFormat) {
      const bound = Reflect.apply(format, this, []) as (date?: unknown) => string;
      return (date?: unknown) => bound(date === undefined ? clock.nowMs() : date);
    },
    configurable: true,
  });
  Object.defineProperty(prototype, "formatToParts", {
    value(this: Intl.DateTimeFormat, date?: unknown) {
      return Reflect.apply(formatToParts, this, [date === undefined ? clock.nowMs() : date]);
    },
    writable: true,
    configurable: true,
  });
}

function tameTemporal(temporal: typeof Temporal, clock: Clock): void {
  const instant = () => temporal.Instant.fromEpochMilliseconds(Math.floor(clock.nowMs()));
  const zoned = (zone: Temporal.TimeZoneLike = temporal.Now.timeZoneId()) => instant().toZonedDateTimeISO(zone);
  const methods = {
    instant,
    zonedDateTimeISO: (zone?: Temporal.TimeZoneLike) => zoned(zone),
    plainDateTimeISO: (zone?: Temporal.TimeZoneLike) => zoned(zone).toPlainDateTime(),
    plainDateISO: (zone?: Temporal.TimeZoneLike) => zoned(zone).toPlainDate(),
    plainTimeISO: (zone?: Temporal.TimeZoneLike) => zoned(zone).toPlainTime(),
  };
  for (const [name, value] of Object.entries(methods)) {
    Object.defineProperty(temporal.Now, name, { value, writable: true, enumerable: false, configurable: true });
  }
}
