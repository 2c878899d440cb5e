/** Reading users' TypeScript modules that are not extensions: scripts of the scripted model. */
export interface ModuleLoader {
  /** The module's exports; TypeScript needs no build. */
  load(path: string): Promise<Record<string, unknown>>;
}

declare module "../../core/index.ts" {
  interface Services {
    loader: ModuleLoader;
  }
}
