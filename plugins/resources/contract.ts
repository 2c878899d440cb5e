/** Where extensions, skills and prompt templates come from, as other features see it. */
import type { AsyncSeriesHook } from "tapable";
import type { SourceInfo } from "../../core/index.ts";
import type { Place } from "../watching/contract.ts";

export type ResourceKind = "extensions" | "skills" | "prompts";

export interface ResourceFile {
  path: string;
  sourceInfo: SourceInfo;
}

export interface FilesOptions {
  /** false leaves the project's out, true takes them; absent: if trusted */
  withProject?: boolean;
  /** also what patterns in the settings leave out */
  everything?: boolean;
}

export interface Resources {
  /** In load order, without duplicates by real path. */
  files(kind: ResourceKind, options?: FilesOptions): Promise<ResourceFile[]>;
  /** What a package, or an extension by itself, holds of a kind. */
  packaged(kind: ResourceKind, path: string): Promise<string[]>;
  /** Files and directories whose change may change the answer; some may not exist yet. Settings, which name some, tell of their own changes. */
  places(kind: ResourceKind): Place[];
  /** Adds files or directories from `resources_discover`, relative to the cwd; they count from the next `reload` on. The answer takes them back, and reloads soon. */
  addDiscovered(kind: "skills" | "prompts", paths: string[], sourceInfo: SourceInfo): () => void;
  /** Looks for everything again; skills, templates and context files are read anew when this resolves. */
  reload(): Promise<void>;
  readonly hooks: { changed: AsyncSeriesHook<[]> };
}

declare module "../../core/index.ts" {
  interface Services {
    resources: Resources;
  }
  interface Options {
    extension?: string[];
    "no-extensions"?: boolean;
    skill?: string[];
    "no-skills"?: boolean;
    "prompt-template"?: string[];
    "no-prompt-templates"?: boolean;
    /** where `builtin-extensions/` is; found beside the program otherwise */
    packageDir?: string;
  }
}
