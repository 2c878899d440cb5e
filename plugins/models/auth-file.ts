/** auth.json: stored credentials, read when asked for, written under a lock and readable by their owner only. */
import { existsSync, readFileSync } from "node:fs";
import { messageOf } from "../../core/index.ts";
import { lineOfMistake } from "../shared/hand-written-json.ts";
import { type LockPatience, replaceFile, withFileLock } from "../shared/locked-file.ts";
import type { Credential } from "./contract.ts";

type Stored = Record<string, unknown>;

interface Found {
  text?: string | undefined;
  failure?: string | undefined;
}

/** Up to about half a minute, with growing pauses. */
const patience: LockPatience = { tries: 20, pauseMs: (attempt) => Math.min(50 * 2 ** attempt, 2000), staleMs: 30_000 };

export class CredentialFile {
  readonly #path: () => string | undefined;
  readonly #onProblem: (problem: string) => void;
  #found: Found = {};
  #stored: Stored = {};
  /** why the file counts as empty and is not written to */
  #flaw: string | undefined;
  /** inside of `reading` */
  #isFresh = false;

  /** `path` answers undefined where there is no place for files; then nothing is stored. */
  constructor(path: () => string | undefined, onProblem: (problem: string) => void) {
    this.#path = path;
    this.#onProblem = onProblem;
  }

  get(provider: string): Credential | undefined {
    const found = this.#read()[provider];
    return isCredential(found) ? found : undefined;
  }

  all(): Credential[] {
    return Object.values(this.#read()).filter(isCredential);
  }

  /** Changes one entry with what the file holds at that moment; undefined removes it. */
  async change(provider: string, change: (current: Credential | undefined) => Promise<Credential | undefined>): Promise<Credential | undefined> {
    const path = this.#path();
    if (!path) throw new Error("There is no place to store credentials.");
    return withFileLock(
      path,
      async () => {
        const stored = this.#read();
        if (this.#flaw) throw new Error(`${path} ${this.#flaw}; it is not overwritten.`);
        const current = this.get(provider);
        const fresh = await change(current);
        if (fresh === current) return fresh;
        const { [provider]: _, ...others } = stored;
        await replaceFile(path, `${JSON.stringify(fresh ? { ...others, [provider]: fresh } : others, null, 2)}\n`, 0o600);
        return fresh;
      },
      patience,
    );
  }

  /** Reads the file once for all that `work` asks. */
  reading<T>(work: () => T): T {
    this.#read();
    this.#isFresh = true;
    try {
      return work();
    } finally {
      this.#isFresh = false;
    }
  }

  /** The file is small and read seldom; reading it each time notices what other processes write. */
  #read(): Stored {
    if (this.#isFresh) return this.#stored;
    const path = this.#path();
    const { text, failure } = path ? readText(path) : {};
    if (text === this.#found.text && failure === this.#found.failure) return this.#stored;
    this.#found = { text, failure };
    this.#stored = {};
    this.#flaw = undefined;
    if (failure) this.#refuse(path as string, `cannot be read (${failure})`);
    if (!text?.trim()) return this.#stored;
    const bare = text.replace(/^\uFEFF/, "");
    let parsed: unknown;
    try {
      parsed = JSON.parse(bare);
    } catch (error) {
      // Only where: the character that the parser names may be one of a key.
      this.#refuse(path as string, `is not valid JSON (line ${lineOfMistake(error, bare)})`);
      return this.#stored;
    }
    if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed)) {
      this.#refuse(path as string, "does not hold an object");
      return this.#stored;
    }
    this.#stored = parsed as Stored;
    this.#complain(path as string);
    return this.#stored;
  }

  #refuse(path: string, flaw: string): void {
    this.#flaw = flaw;
    this.#onProblem(`${path} ${flaw}; stored credentials are ignored.`);
  }

  /** Of what is wrong only names are told, as all else may be a key. */
  #complain(path: string): void {
    const ignored = Object.entries(this.#stored).filter(([, entry]) => !isCredential(entry) || saysNothing(entry));
    if (ignored.length === 0) return;
    const names = ignored.map(([provider]) => provider).join(", ");
    this.#onProblem(
      `${path}: ignored what is no credential: ${names}; expected {"type": "api_key", "key": "…"}, or a login with type, access, refresh and expires.`,
    );
  }
}

function readText(path: string): Found {
  try {
    // Mostly there is none, and a failed read costs far more than a look.
    return existsSync(path) ? { text: readFileSync(path, "utf8") } : {};
  } catch (error) {
    return { failure: (error as NodeJS.ErrnoException).code ?? messageOf(error) };
  }
}

/** e.g. for a misspelled "key" */
const saysNothing = (credential: Credential) => credential.type === "api_key" && credential.key === undefined && credential.env === undefined;

function isCredential(value: unknown): value is Credential {
  const { type, key, access, refresh, expires } = (value ?? {}) as Record<string, unknown>;
  if (type === "api_key") return key === undefined || typeof key === "string";
  return type === "oauth" && typeof access === "string" && typeof refresh === "string" && typeof expires === "number";
}
