import type { Clock } from "./clock.ts";

const { floor } = Math;
const { defineProperty, getOwnPropertyDescriptor, hasOwn } = Object;

/**
 * `Temporal`, assembled from its classes, with a `Now` that reads only the call's clock. V8's own namespace is removed
 * unread: reading it would make V8 build all of it at once, and its `Now` reads the real clock. Every class is reached
 * from a date's instant.
 */
export function createTemporal(RealDate: DateConstructor, clock: Clock): object {
  const { toTemporalInstant } = RealDate.prototype;
  const instantAt = (ms: number) => Reflect.apply(toTemporalInstant, new RealDate(ms), []);
  const instant = instantAt(0);
  const zoned = instant.toZonedDateTimeISO("UTC");
  const date = zoned.toPlainDate();
  return namespace("Temporal", {
    Now: createNow(() => instantAt(floor(clock.nowMs()))),
    PlainDate: date.constructor,
    PlainTime: zoned.toPlainTime().constructor,
    PlainDateTime: zoned.toPlainDateTime().constructor,
    ZonedDateTime: zoned.constructor,
    Duration: instant.since(instant).constructor,
    Instant: instant.constructor,
    PlainYearMonth: date.toPlainYearMonth().constructor,
    PlainMonthDay: date.toPlainMonthDay().constructor,
  });
}

function createNow(instantNow: () => Temporal.Instant): object {
  const timeZoneId = () => new Intl.DateTimeFormat().resolvedOptions().timeZone;
  const zoned = (zone: Temporal.TimeZoneLike = timeZoneId()) => instantNow().toZonedDateTimeISO(zone);
  return namespace("Temporal.Now", {
    // Named by their keys: a bundler may rename other identifiers.
    instant: () => instantNow(),
    timeZoneId: () => timeZoneId(),
    plainDateTimeISO: (...[zone]: [zone?: Temporal.TimeZoneLike]) => zoned(zone).toPlainDateTime(),
    zonedDateTimeISO: (...[zone]: [zone?: Temporal.TimeZoneLike]) => zoned(zone),
    plainDateISO: (...[zone]: [zone?: Temporal.TimeZoneLike]) => zoned(zone).toPlainDate(),
    plainTimeISO: (...[zone]: [zone?: Temporal.TimeZoneLike]) => zoned(zone).toPlainTime(),
  });
}

/** An object like the language's namespaces: its properties are writable but not enumerable. */
function namespace(tag: string, members: Readonly<Record<string, unknown>>): object {
  const made = {};
  // Without an iterator, which a tool of an open realm may have replaced before it first reads `Temporal`.
  for (const name in members) {
    if (!hasOwn(members, name)) continue;
    defineProperty(made, name, { value: members[name], writable: true, enumerable: false, configurable: true });
  }
  defineProperty(made, Symbol.toStringTag, { value: tag, configurable: true });
  return made;
}

/**
 * A prototype for the dates of a realm that is to be frozen. V8's own has the method that makes V8 build Temporal, so
 * it stays hidden; the method here calls it once Temporal is prepared.
 */
export function separateDates(RealDate: DateConstructor, prepareTemporal: () => object): Date {
  const hidden = RealDate.prototype;
  const dates = {
    toTemporalInstant(this: Date): Temporal.Instant {
      prepareTemporal();
      return hidden.toTemporalInstant.call(this);
    },
  };
  defineProperty(dates, "toTemporalInstant", { enumerable: false });
  for (const key of Reflect.ownKeys(hidden)) {
    if (key === "toTemporalInstant") continue;
    defineProperty(dates, key, getOwnPropertyDescriptor(hidden, key) ?? {});
  }
  return dates as Date;
}
