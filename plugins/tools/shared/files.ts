/** Opening regular files only, and replacing a file's content at once. */
import { randomBytes } from "node:crypto";
import { closeSync, constants, fstatSync, open as openFile, readSync, type Stats } from "node:fs";
import { access, type FileHandle, lstat, open, readlink, realpath, rename, rm, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";

/** Links followed by hand, where the last one points to nothing. */
const MAX_LINKS = 40;

/** Reading this much takes less time than one trip to another thread and back. */
const SMALL = 128 * 1024;
/** Never blocks on a FIFO without a writer, a terminal and the like. */
const READ = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

/** Opens a regular file for reading; anything else is refused. */
export async function openRegular(path: string): Promise<FileHandle> {
  const file = await open(path, READ);
  try {
    requireRegular(await file.stat(), path, "read");
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** All of a small regular file; undefined if it is a large one. Only opening it, which may wait for a disk or a network, is left to another thread. */
export async function readSmall(path: string): Promise<Buffer | undefined> {
  const file = await new Promise<number>((resolve, reject) => openFile(path, READ, (error, opened) => (error ? reject(error) : resolve(opened))));
  try {
    const stats = fstatSync(file);
    requireRegular(stats, path, "read");
    if (stats.size > SMALL) return undefined;
    // Files of the system say that they are empty. One byte more, because it may be growing: then it is read like a large one.
    const bytes = Buffer.allocUnsafe((stats.size || SMALL) + 1);
    let size = 0;
    for (let count = -1; count !== 0; size += count) {
      if (size === bytes.length) return undefined;
      count = readSync(file, bytes, size, bytes.length - size, null);
    }
    return bytes.subarray(0, size);
  } finally {
    closeSync(file);
  }
}

/** Reads a whole regular file of at most `maxBytes`. */
export async function readRegular(path: string, maxBytes: number): Promise<Buffer> {
  const small = await readSmall(path);
  if (small) return small;
  const file = await openRegular(path);
  try {
    const { size } = await file.stat();
    if (size > maxBytes) throw coded("EFBIG", `EFBIG: file too large (${size} bytes), read '${path}'`);
    return await file.readFile();
  } finally {
    await file.close();
  }
}

function requireRegular(stats: Stats, path: string, call: string): void {
  if (stats.isFile()) return;
  if (stats.isDirectory()) throw coded("EISDIR", `EISDIR: illegal operation on a directory, ${call} '${path}'`);
  throw coded("EINVAL", `EINVAL: not a regular file (${kindOf(stats)}), ${call} '${path}'`);
}

function kindOf(stats: Stats): string {
  if (stats.isFIFO()) return "FIFO";
  if (stats.isSocket()) return "socket";
  if (stats.isCharacterDevice()) return "character device";
  return stats.isBlockDevice() ? "block device" : "special file";
}

function coded(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}

/** The same error about the file that was meant. */
function named(error: unknown, temporary: string, target: string): unknown {
  if (error instanceof Error) error.message = error.message.replace(temporary, target);
  return error;
}

export function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException | undefined)?.code;
}

/** Refuses what `writeAtomically` would refuse, before anything is computed. */
export async function checkWritable(path: string): Promise<void> {
  const stats = await stat(path);
  requireRegular(stats, path, "open");
  await access(path, constants.R_OK | constants.W_OK);
  // For root every file is writable; one that is marked read-only is meant to stay as it is all the same.
  if ((stats.mode & 0o222) === 0) throw coded("EACCES", `EACCES: permission denied (the file is read-only), open '${path}'`);
}

/**
 * Replaces the content of a file by rename: whoever reads it, at whatever moment, sees the old or the new content. Links are written through; mode and owner stay.
 */
export async function writeAtomically(path: string, data: string | Buffer): Promise<void> {
  const target = await linkTarget(path);
  const existing = await stat(target).catch((error) => {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  });
  if (existing) await checkWritable(target);
  const temporary = join(dirname(target), `.pi-${randomBytes(8).toString("hex")}.tmp`);
  try {
    await writeBeside(temporary, data, existing);
    await rename(temporary, target);
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined);
    // A file that is a mount point, or ours in a directory that is not, can only be written in place.
    if (!existing || !["EACCES", "EPERM", "EBUSY", "EXDEV"].includes(codeOf(error) ?? "")) throw named(error, temporary, target);
    await writeInPlace(target, data);
  }
}

/** Where a chain of links ends, even if nothing is there. A loop is the system's own error. */
async function linkTarget(path: string): Promise<string> {
  let target = path;
  for (let links = 0; links < MAX_LINKS; links++) {
    try {
      return await realpath(target);
    } catch (error) {
      if (codeOf(error) !== "ENOENT") throw error;
    }
    const link = await lstat(target).catch(() => undefined);
    if (!link?.isSymbolicLink()) return target;
    target = resolve(dirname(target), await readlink(target));
  }
  return target;
}

async function writeBeside(temporary: string, data: string | Buffer, existing: Stats | undefined): Promise<void> {
  const file = await open(temporary, "wx", existing ? 0o600 : 0o666);
  try {
    await file.writeFile(data);
    if (existing) await keepIdentity(file, existing);
    await file.datasync();
  } finally {
    await file.close();
  }
}

async function keepIdentity(file: FileHandle, { uid, gid, mode }: Stats): Promise<void> {
  const own = await file.stat();
  if (own.uid !== uid || own.gid !== gid) await file.chown(uid, gid);
  // After chown, which clears set-user-id bits.
  await file.chmod(mode & 0o7777);
}

async function writeInPlace(target: string, data: string | Buffer): Promise<void> {
  const file = await open(target, "r+");
  try {
    await file.truncate(0);
    await file.writeFile(data);
    await file.datasync();
  } finally {
    await file.close();
  }
}
