/** Skills, as other features see them. */
import type { SourceInfo } from "../../core/index.ts";

export interface Skill {
  name: string;
  description: string;
  filePath: string;
  baseDir: string;
  sourceInfo: SourceInfo;
  disableModelInvocation: boolean;
}

declare module "../../core/index.ts" {
  interface Kinds {
    skills: Skill;
  }
}
