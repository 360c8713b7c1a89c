import { createPublicKey, diffieHellman, generateKeyPairSync, hkdfSync, type KeyObject } from "node:crypto";
import { Seal } from "../../kernel/store/seal.ts";

const KEY_BYTES = 32;

/**
 * A tool's config may contain keys of services, so it crosses Redis sealed for the one machine that requested it:
 * X25519 with an ephemeral key (as in ECIES). A reader of Redis cannot open it. A writer could act as a man in the
 * middle: the fleet's secret prevents that.
 */
export class ConfigReader {
  readonly #privateKey: KeyObject;
  /** The key that servers seal configs for. */
  readonly publicKey: string;

  constructor() {
    const { privateKey, publicKey } = generateKeyPairSync("x25519");
    this.#privateKey = privateKey;
    this.publicKey = write(publicKey);
  }

  /** Throws if the config was sealed for another machine or another script. */
  open(sealed: string, script: string): string {
    const [ephemeral = "", text = ""] = sealed.split(" ");
    return sealOf(this.#privateKey, read(ephemeral), script).open(text, script);
  }
}

/** Seals a config for the holder of a public key. Throws if the key is invalid. */
export function sealConfig(config: string, publicKey: string, script: string): string {
  const ephemeral = generateKeyPairSync("x25519");
  const seal = sealOf(ephemeral.privateKey, read(publicKey), script);
  return `${write(ephemeral.publicKey)} ${seal.close(config, script)}`;
}

function sealOf(privateKey: KeyObject, publicKey: KeyObject, script: string): Seal {
  const shared = diffieHellman({ privateKey, publicKey });
  return Seal.keyed(Buffer.from(hkdfSync("sha256", shared, "", `glovebox config ${script}`, KEY_BYTES)));
}

function write(key: KeyObject): string {
  return key.export({ type: "spki", format: "der" }).toString("base64");
}

function read(text: string): KeyObject {
  return createPublicKey({ key: Buffer.from(text, "base64"), type: "spki", format: "der" });
}
