import { Utf8Decoder } from "../../kernel/guest/web/utf8.ts";
import { FILE_RIGHTS, FOLDER_RIGHTS, RIGHT } from "./abi.ts";
import { OpenFile, OpenFolder } from "./descriptors.ts";
import { FileNode, FolderNode, LinkNode, Quota } from "./nodes.ts";

/** Space for files in addition to the output, in bytes. */
const SPARE_BYTES = 1024 * 1024;
/** Maximum number of files, folders and links that a call creates: each one takes memory. */
const ENTRIES_MAX = 1_000;
const OUT = "out";
const OUTPUT = "output.json";

/** The file to which a command writes its output. */
export const OUTPUT_PATH = `/${OUT}/${OUTPUT}`;

/** The files of one call: a root with `/out` and `/tmp`, which are empty at first and discarded afterwards. */
export class CallFiles {
  readonly root: FolderNode;
  readonly #quota: Quota;
  readonly #out: FolderNode;
  readonly #nowNs: () => bigint;
  /** Every call numbers its nodes alike. */
  #nextIno = 1n;

  /** `outputMax`: maximum size of the output, in bytes. `nowNs`: nanoseconds since the epoch. */
  constructor(outputMax: number, nowNs: () => bigint) {
    this.#quota = new Quota(outputMax + SPARE_BYTES, ENTRIES_MAX);
    this.#nowNs = nowNs;
    this.root = this.#folder();
    this.root.links = 1;
    this.#out = this.#folder();
    this.root.add(OUT, this.#out, nowNs());
    this.root.add("tmp", this.#folder(), nowNs());
  }

  get nowNs(): bigint {
    return this.#nowNs();
  }

  /** Makes a file, folder or link, which has no name yet. Throws a `WasiError` if there are too many. */
  createFile(): FileNode {
    this.#quota.takeEntry();
    return new FileNode(this.#nextIno++, this.nowNs, this.#quota);
  }

  createFolder(): FolderNode {
    this.#quota.takeEntry();
    return this.#folder();
  }

  createLink(target: string, bytes: number): LinkNode {
    this.#quota.takeEntry();
    return new LinkNode(this.#nextIno++, this.nowNs, target, bytes);
  }

  /** Counts one more name of a node. */
  takeName(): void {
    this.#quota.takeEntry();
  }

  /** The root as a command finds it at its start. */
  openRoot(): OpenFolder {
    return new OpenFolder(this.root, FOLDER_RIGHTS, FOLDER_RIGHTS | FILE_RIGHTS, "/");
  }

  /** Standard input, which is empty. */
  openInput(): OpenFile {
    const input = new FileNode(0n, this.nowNs, new Quota(0, 0));
    return new OpenFile(input, RIGHT.fdRead | RIGHT.fdStat | RIGHT.fdSeek | RIGHT.fdTell | RIGHT.pollReadwrite);
  }

  /** The command's output; `null` if it wrote none. */
  output(): string | null {
    const file = this.#out.get(OUTPUT);
    return file instanceof FileNode ? new Utf8Decoder(false).decode(file.data, true) : null;
  }

  #folder(): FolderNode {
    return new FolderNode(this.#nextIno++, this.nowNs);
  }
}
