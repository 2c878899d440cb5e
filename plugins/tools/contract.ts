/** What other features see of the tools and of images. */
import type { ImageContent } from "../../core/index.ts";

/** Images on their way into the conversation. */
export interface Images {
  /** An image of a file as models take it, absent if it is damaged or cannot be made fit, and what is to be said about that. */
  prepare(image: ImageContent): Promise<{ image?: ImageContent; hints: string[] }>;
}

/** Which tools the model is offered. */
export interface ActiveTools {
  /** in activation order */
  names(): string[];
  /** the same, unless a handler of the current run chose otherwise for it */
  offered(): string[];
  /** Replaces the list; unknown names are ignored. Effective from the next request, and for this session only if asked. */
  set(names: readonly string[], options?: { forSession?: boolean }): void;
  /** What was chosen for the session counts no more. */
  sessionEnded(): void;
  /** Names that were not there before become active. */
  activate(...names: string[]): void;
}

declare module "../../core/index.ts" {
  interface Services {
    activeTools: ActiveTools;
    images: Images;
  }
  interface Options {
    tools?: string;
    "exclude-tools"?: string;
    "no-tools"?: boolean;
    "no-builtin-tools"?: boolean;
  }
}
