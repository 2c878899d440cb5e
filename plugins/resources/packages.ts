/** Which declared packages count, and which of their files. */
import type { PackageEntry } from "../packages/contract.ts";
import type { Complain } from "../shared/complaints.ts";
import { parsePackageSource } from "../shared/package-source.ts";
import { expandPath } from "../shared/paths.ts";
import type { ResourceKind } from "./contract.ts";
import { adjust, type Base, isAdjustment, named } from "./patterns.ts";

export interface DeclaredPackage {
  entry: PackageEntry;
  scope: "user" | "project";
  /** a project's filters on top of this user's entry */
  overlay?: PackageEntry;
  /** absolute; only for local ones */
  localPath?: string;
}

/** Project-declared before user-declared; a project's entry stands for the user's of the same package. */
export function declaredPackages(lists: Record<"project" | "user", unknown>, bases: Record<"project" | "user", Base>, complain: Complain): DeclaredPackage[] {
  const read = (scope: "project" | "user") => {
    const found = new Map<string, DeclaredPackage>();
    for (const item of (lists[scope] ?? []) as (string | PackageEntry)[]) {
      const entry = typeof item === "string" ? { source: item } : item;
      try {
        const source = parsePackageSource(entry.source);
        const localPath = source.kind === "local" ? expandPath(source.path, bases[scope].dir, bases[scope].home) : undefined;
        const identity = source.kind === "local" ? (localPath as string) : source.identity;
        if (!found.has(identity)) found.set(identity, { entry, scope, localPath });
      } catch (error) {
        complain(`packages: ${(error as Error).message}`);
      }
    }
    return found;
  };
  const project = read("project");
  const user = read("user");
  for (const [identity, { entry }] of project) {
    const other = user.get(identity);
    if (!other) continue;
    if (entry.autoload === false) {
      other.overlay = entry;
      project.delete(identity);
    } else {
      user.delete(identity);
    }
  }
  return [...project.values(), ...user.values()];
}

/** What remains of a package's files after the entry's filters. Filters never add what the package does not declare. */
export async function filterPackage(all: readonly string[], kind: ResourceKind, { entry, overlay }: DeclaredPackage, base: Base): Promise<string[]> {
  const chosen = await filtered(all, entry[kind], entry.autoload === false ? [] : all, false, base);
  return filtered(all, overlay?.[kind], chosen, true, base);
}

/** No filter leaves `before` as it is, an empty one takes nothing. Names choose from all, or are added to `before`; then come the adjustments. */
async function filtered(all: readonly string[], filter: string[] | undefined, before: readonly string[], isOverlay: boolean, base: Base): Promise<string[]> {
  if (!filter) return [...before];
  if (filter.length === 0) return [];
  const names = filter.filter((entry) => !isAdjustment(entry));
  const chosen = await named(all, names, base);
  const start = names.length === 0 ? before : isOverlay ? [...before, ...chosen] : chosen;
  return adjust(all, new Set(start), filter, base);
}
