/** jiti's own compiler for TypeScript, read at first use. It lies beside the bundle, or in jiti's package. */
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

export interface TransformInput {
  source: string;
  filename?: string;
  ts?: boolean;
  async?: boolean;
  jsx?: unknown;
  interopDefault?: boolean;
  [option: string]: unknown;
}
export interface TransformOutput {
  code: string;
  error?: unknown;
}
export type Transform = (input: TransformInput) => TransformOutput;

let compiler: Transform | undefined;

export function compile(input: TransformInput): TransformOutput {
  compiler ??= findCompiler();
  return compiler(input);
}

function findCompiler(): Transform {
  const require = createRequire(import.meta.url);
  const places = ["./babel.cjs", "../babel.cjs", () => join(dirname(require.resolve("jiti/package.json")), "dist/babel.cjs")];
  let failure: unknown;
  for (const place of places) {
    try {
      return require(typeof place === "string" ? place : place()) as Transform;
    } catch (error) {
      failure = error;
    }
  }
  throw new Error("The compiler for TypeScript is missing: babel.cjs was not found beside the program.", { cause: failure });
}
