/** jiti's own compiler for TypeScript, read at first use. In a build this module is another one: there the compiler is a script of its own. */
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
  return require(join(dirname(require.resolve("jiti/package.json")), "dist/babel.cjs")) as Transform;
}
