/** One writer per session file: a lease beside it names the owner's process and machine. */
import { randomUUID } from "node:crypto";
import { linkSync, readFileSync, realpathSync, renameSync, statSync, unlinkSync, utimesSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { KernelError } from "../../core/index.ts";

/** A lease on another machine is alive while it is renewed this often. */
const RENEW_MS = 15_000;
const EXPIRES_MS = 4 * RENEW_MS;

interface Owner {
  pid: number;
  host: string;
  /** start of the process in the system's own count, where it tells: a reused pid is not the owner */
  started?: string;
  token: string;
}

/** Somebody else writes the file. */
export class LeaseError extends KernelError {
  override name = "LeaseError";
  readonly pid: number;

  constructor(file: string, owner: { pid: number; host: string }) {
    const where = owner.host === hostname() ? `process ${owner.pid}` : `process ${owner.pid} on ${owner.host}`;
    super("E_USAGE", `Session file is in use by ${where}: ${file}`);
    this.pid = owner.pid;
  }
}

/** Beside the real file: a link to it is the same file. */
export function leasePath(file: string): string {
  return `${attempt(() => realpathSync(file)) ?? file}.lock`;
}

/** Who writes the file now, if anybody alive does. */
export function leaseHolder(file: string): { pid: number; host: string } | undefined {
  const path = leasePath(file);
  const owner = readOwner(path);
  return owner && isAlive(owner, path) ? owner : undefined;
}

export class Lease {
  readonly #path: string;
  readonly #token: string;
  readonly #renewal: NodeJS.Timeout;

  private constructor(path: string, token: string) {
    this.#path = path;
    this.#token = token;
    this.#renewal = setInterval(() => this.#renew(), RENEW_MS);
    this.#renewal.unref();
  }

  /** Takes the lease or throws: `LeaseError` if a living process holds it, else the system's error. */
  static acquire(file: string): Lease {
    const path = leasePath(file);
    const token = randomUUID();
    const owner: Owner = { pid: process.pid, host: hostname(), token };
    const started = startOf(process.pid);
    if (started) owner.started = started;
    for (let tries = 0; tries < 10; tries++) {
      if (publish(path, owner)) return new Lease(path, token);
      const holder = readOwner(path);
      if (holder && isAlive(holder, path)) throw new LeaseError(file, holder);
      removeDead(path, holder);
    }
    throw new Error(`The lease ${path} changes hands too often`);
  }

  release(): void {
    clearInterval(this.#renewal);
    if (readOwner(this.#path)?.token !== this.#token) return;
    attempt(() => unlinkSync(this.#path));
  }

  #renew(): void {
    const now = new Date();
    attempt(() => utimesSync(this.#path, now, now));
  }
}

/** Makes the lease appear with its content, all at once; false if there is one. */
function publish(path: string, owner: Owner): boolean {
  const draft = `${path}.${owner.token}`;
  try {
    writeFileSync(draft, JSON.stringify(owner), { mode: 0o600, flag: "wx" });
    linkSync(draft, path);
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST") return false;
    // Some file systems have no hard links.
    if (code === "EPERM" || code === "ENOTSUP" || code === "EOPNOTSUPP" || code === "ENOSYS" || code === "EMLINK") return create(path, owner);
    throw error;
  } finally {
    attempt(() => unlinkSync(draft));
  }
}

function create(path: string, owner: Owner): boolean {
  try {
    writeFileSync(path, JSON.stringify(owner), { mode: 0o600, flag: "wx" });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

function readOwner(path: string): Owner | undefined {
  return attempt(() => {
    const owner = JSON.parse(readFileSync(path, "utf8")) as Owner;
    return Number.isInteger(owner.pid) && typeof owner.host === "string" ? owner : undefined;
  });
}

function isAlive(owner: Owner, path: string): boolean {
  if (owner.host !== hostname()) {
    const found = attempt(() => statSync(path));
    return found !== undefined && Date.now() - found.mtimeMs < EXPIRES_MS;
  }
  try {
    process.kill(owner.pid, 0);
  } catch (error) {
    // EPERM: it lives and is somebody else's.
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
  const started = startOf(owner.pid);
  return owner.started === undefined || started === undefined || owner.started === started;
}

/** Takes a dead owner's lease away. Of two that try, one may move the other's fresh lease: it is put back. */
function removeDead(path: string, dead: Owner | undefined): void {
  const aside = `${path}.${randomUUID()}`;
  attempt(() => {
    renameSync(path, aside);
    const moved = readOwner(aside);
    if (moved && moved.token !== dead?.token) attempt(() => linkSync(aside, path));
    unlinkSync(aside);
  });
}

/** When a process started, as Linux tells it: boot and clock ticks. */
function startOf(pid: number): string | undefined {
  return attempt(() => {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name in parentheses may hold anything; the state is the first field after it, the start time the 20th.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    if (fields[0] === "Z" || fields[0] === "X") return "ended";
    const ticks = fields[19];
    return ticks && `${readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()}/${ticks}`;
  });
}

function attempt<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}
