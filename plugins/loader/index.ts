/** Reads users' modules with jiti, which is loaded at the first TypeScript file. */
import { pathToFileURL } from "node:url";
import { definePlugin } from "../../core/index.ts";
import type {} from "../process/contract.ts";
import { compile } from "../shared/compiler.ts";
import type { ModuleLoader } from "./contract.ts";

export const loader = definePlugin({
  name: "loader",
  apply(kernel) {
    const service: ModuleLoader = {
      async load(path) {
        kernel.tryService("process")?.guardChildren();
        if (/\.(mjs|cjs|js)$/.test(path)) return import(pathToFileURL(path).href);
        const { createJiti } = await import("jiti");
        const options = { fsCache: false, moduleCache: false, interopDefault: false, transform: (input: unknown) => compile(input as never) };
        return createJiti(pathToFileURL(path).href, options).import(path);
      },
    };
    kernel.provide("loader", service);
  },
});

export default [loader];
