/** For pipelines: one answer as text or JSON, and tools that change nothing. */
import { definePlugin, type PluginList } from "../../core/index.ts";
import { piDialect } from "../../plugins/dialects/pi.ts";
import extensions from "../../plugins/extensions/index.ts";
import faults from "../../plugins/faults/index.ts";
import loader from "../../plugins/loader/index.ts";
import models from "../../plugins/models/index.ts";
import print from "../../plugins/print/index.ts";
import catalog from "../../plugins/providers/catalog/index.ts";
import wireApis from "../../plugins/providers/index.ts";
import { offline } from "../../plugins/providers/offline.ts";
import { scripted } from "../../plugins/providers/scripted.ts";
import resources from "../../plugins/resources/index.ts";
import retry from "../../plugins/retry/index.ts";
import session from "../../plugins/session/index.ts";
import settings from "../../plugins/settings/index.ts";
import skills from "../../plugins/skills/index.ts";
import slashCommands from "../../plugins/slash-commands/index.ts";
import systemPrompt from "../../plugins/system-prompt/index.ts";
import templates from "../../plugins/templates/index.ts";
import { active } from "../../plugins/tools/active.ts";
import { blockedImages } from "../../plugins/tools/blocked-images.ts";
import { find } from "../../plugins/tools/find.ts";
import { grep } from "../../plugins/tools/grep.ts";
import { images } from "../../plugins/tools/images.ts";
import { ls } from "../../plugins/tools/ls.ts";
import { read } from "../../plugins/tools/read.ts";
import trust from "../../plugins/trust/index.ts";

/** All of them are offered; the program's own default names some that are not here. */
const offered = definePlugin({
  name: "default-tools",
  apply(kernel) {
    kernel.defer(kernel.service("settings").defaults({ defaultTools: ["read", "grep", "find", "ls"] }));
  },
});

const ci: PluginList = [
  [faults, settings, trust, resources, loader],
  [session, models, catalog, wireApis, offline, scripted, retry],
  [read, grep, find, ls, active, images, blockedImages, offered, systemPrompt],
  [slashCommands, skills, templates, extensions],
  [piDialect, print],
];

export default ci;
