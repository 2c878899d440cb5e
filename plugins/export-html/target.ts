/** The file that a page is written to: whole or not at all, and errors that name the path the caller gave. */
import { type FileHandle, open, realpath, rename, stat, unlink } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { KernelError, messageOf } from "../../core/index.ts";

const BUFFERED = 256 * 1024;
/** keeps two exports to one path apart */
let created = 0;

export class PageFile {
  /** absolute, as asked for */
  readonly path: string;
  /** what is written to until the end; undefined: the target itself, which is no ordinary file */
  readonly #temporary: string | undefined;
  readonly #target: string;
  readonly #handle: FileHandle;
  #waiting: string[] = [];
  #size = 0;

  private constructor(path: string, target: string, temporary: string | undefined, handle: FileHandle) {
    this.path = path;
    this.#target = target;
    this.#temporary = temporary;
    this.#handle = handle;
  }

  static async create(path: string, cwd: string): Promise<PageFile> {
    const absolute = resolve(cwd, path);
    // A link is followed, so that the file behind it is replaced and not the link.
    const target = await realpath(absolute).catch(() => absolute);
    const existing = await stat(target).catch(() => undefined);
    if (existing) await (await open(target, "r+").catch((error) => fail(error, target, absolute))).close();
    // A device or a pipe cannot be replaced by a file.
    if (existing && !existing.isFile())
      return new PageFile(absolute, target, undefined, await open(target, "w").catch((error) => fail(error, target, absolute)));
    const temporary = join(dirname(target), `.${basename(target)}.${process.pid}-${++created}.tmp`);
    const handle = await open(temporary, "w", existing?.mode ?? 0o666).catch((error) => fail(error, temporary, absolute));
    return new PageFile(absolute, target, temporary, handle);
  }

  /** Writes in large pieces; what waits in memory is bounded. */
  async write(text: string): Promise<void> {
    this.#waiting.push(text);
    this.#size += text.length;
    if (this.#size >= BUFFERED) await this.#flush();
  }

  async finish(): Promise<void> {
    await this.#flush();
    await this.#handle.close();
    if (this.#temporary) await rename(this.#temporary, this.#target).catch((error) => fail(error, this.#temporary as string, this.path));
  }

  /** Leaves what was there before. */
  async discard(): Promise<void> {
    await this.#handle.close().catch(() => undefined);
    if (this.#temporary) await unlink(this.#temporary).catch(() => undefined);
  }

  async #flush(): Promise<void> {
    const text = this.#waiting.join("");
    this.#waiting = [];
    this.#size = 0;
    await this.#handle.writeFile(text);
  }
}

/** The system's sentence about the path that was asked for instead of our temporary one. */
function fail(error: unknown, used: string, asked: string): never {
  throw new KernelError("E_REFUSED", messageOf(error).replaceAll(used, asked), { cause: error });
}
