import { formatWithOptions as formatWith, inspect as show, stripVTControlCharacters } from "node-inspect-extracted";
import { invalidArgType, thrown } from "./inner/errors.ts";
import { kept, type NodeModule } from "./inner/library.ts";

/** `util.inspect` and `util.format`: Node's own, from a package that extracts them. Their options belong to the instance. */

type Options = { [name: string]: unknown };

/** The package's own options, which stay unchanged: those of an instance are passed with each call. */
export const defaults: Options = show.defaultOptions as unknown as Options;

const own = (): Options => kept("inspect", () => ({ ...defaults }));

/** An instance's changed options take precedence over the options of a call. */
function optionsOf(options: unknown, depth?: unknown, colors?: unknown): Options {
  if (typeof options === "object" && options !== null) return { ...own(), ...options };
  return {
    ...own(),
    ...(typeof options === "boolean" && { showHidden: options }),
    ...(depth !== undefined && { depth }),
    ...(colors !== undefined && { colors }),
  };
}

export function inspect(value: unknown, options?: unknown, depth?: unknown, colors?: unknown): string {
  return show(value, optionsOf(options, depth, colors) as never);
}

function setDefaults(options: unknown): void {
  if (typeof options !== "object" || options === null) throw invalidArgType("options", "object", options);
  Object.assign(own(), options);
}

Object.defineProperties(inspect, {
  defaultOptions: { get: own, set: setDefaults, enumerable: true },
  custom: { value: show.custom, enumerable: true, writable: true, configurable: true },
  colors: { value: show.colors, enumerable: true, writable: true, configurable: true },
  styles: { value: show.styles, enumerable: true, writable: true, configurable: true },
});

function format(...args: readonly unknown[]): string {
  return formatWith(own() as never, ...args);
}

function formatWithOptions(options: unknown, ...args: readonly unknown[]): string {
  if (typeof options !== "object" || options === null) return formatWith(options as never, ...args);
  return formatWith({ ...own(), ...options } as never, ...args);
}

export const shared: NodeModule = { inspect, format, formatWithOptions, stripVTControlCharacters };

/**
 * The package's own functions and classes, in the form in which it passes them to `[util.inspect.custom]`, and throws
 * them.
 */
export function samples(): readonly unknown[] {
  const given: unknown[] = [];
  const value = { [show.custom]: (_depth: number, { stylize }: { stylize: unknown }) => given.push(stylize) };
  for (const colors of [false, true]) show(value, { colors });
  const fails = [() => formatWith(1 as never), () => stripVTControlCharacters(1 as never)];
  return [show, ...given, ...fails.map((fail) => thrown(fail))];
}
