import { type Command, InvalidArgumentError, Option } from "commander";
import type { Override } from "../server/config/configuration.ts";
import { readText, settingAt } from "../server/config/names.ts";

/** A flag that sets a configuration value. */
interface SettingFlag {
  /** `--drain-ms <number>` */
  readonly flags: string;
  /** `drainMs` */
  readonly setting: string;
  /** Default in the help text. */
  readonly otherwise?: string | number;
}

/** Adds flags, with the help and checks of their settings. They override the configuration. */
export function addSettingFlags(command: Command, flags: readonly SettingFlag[]): Command {
  for (const { flags: written, setting, otherwise } of flags) {
    const { enum: choices, description = "", type, minimum, maximum } = settingAt(setting).part;
    const option = new Option(
      written,
      otherwise === undefined ? description : `${description} (default: ${otherwise})`,
    );
    if (choices !== undefined) option.choices(choices.map(String));
    if (type === "integer")
      option.argParser(wholeNumber(Number(minimum ?? 0), Number(maximum ?? Number.MAX_SAFE_INTEGER)));
    command.addOption(option);
  }
  return command;
}

/** Settings given as flags. */
export function readFlags(command: Command, flags: readonly SettingFlag[]): readonly Override[] {
  return flags.flatMap(({ flags: written, setting }): Override[] => {
    const option = new Option(written);
    const text: unknown = command.getOptionValue(option.attributeName());
    if (typeof text !== "string") return [];
    const { path, part } = settingAt(setting);
    // One folder, for any characters in its name.
    const value = part.type === "array" ? [text] : readText(text, part);
    return [{ path, value, source: { kind: "flag", name: option.long ?? written } }];
  });
}

/**
 * Refuses an invalid flag at once, with the command's help. Returns the text, which is parsed like those of other
 * sources.
 */
export function wholeNumber(least: number, most: number): (text: string) => string {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= least && value <= most) return text;
    throw new InvalidArgumentError(`It is a whole number from ${least} to ${most}.`);
  };
}
