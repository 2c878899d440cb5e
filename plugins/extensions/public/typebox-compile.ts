/** `typebox/compile` for extensions, also as the compiler of TypeBox 0.34. */
import * as compile1 from "typebox/compile";

export const compile = { ...compile1, TypeCompiler: { Compile: compile1.Compile }, default: compile1.Compile };
