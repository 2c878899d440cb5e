/** What the model can do by itself: files, a shell, searches. */
import type { PluginList } from "../../core/index.ts";
import { active } from "./active.ts";
import { bash } from "./bash.ts";
import { blockedImages } from "./blocked-images.ts";
import { toolCommands } from "./commands.ts";
import { edit } from "./edit.ts";
import { find } from "./find.ts";
import { grep } from "./grep.ts";
import { images } from "./images.ts";
import { ls } from "./ls.ts";
import { read } from "./read.ts";
import { write } from "./write.ts";

export default [read, bash, edit, write, grep, find, ls, active, images, blockedImages, toolCommands] satisfies PluginList;
