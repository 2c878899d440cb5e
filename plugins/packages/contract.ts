/** Installed packages, as other features see them. */
export type PackageScope = "user" | "project" | "temporary";

export interface Packages {
  /**
   * The directory of a package from npm or git; it is installed if it is missing and may be.
   * undefined: it is not there, and why was reported.
   */
  directory(source: string, scope: PackageScope): Promise<string | undefined>;
}

/** An entry of the settings list `packages`. Per kind: absent is all, an empty list none, patterns choose. */
export interface PackageEntry {
  source: string;
  /** false: nothing by itself; in a project, the filters act on the user's entry of the same package */
  autoload?: boolean;
  extensions?: string[];
  skills?: string[];
  prompts?: string[];
  themes?: string[];
}

declare module "../../core/index.ts" {
  interface Services {
    packages: Packages;
  }
}
