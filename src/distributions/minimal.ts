/** The smallest agent an embedder can drive: RPC, two tools, the embedded models, extensions. */
import type { PluginList } from "../../core/index.ts";
import { piDialect } from "../../plugins/dialects/pi.ts";
import extensions from "../../plugins/extensions/index.ts";
import faults from "../../plugins/faults/index.ts";
import loader from "../../plugins/loader/index.ts";
import models from "../../plugins/models/index.ts";
import prompting from "../../plugins/prompting/index.ts";
import { offline } from "../../plugins/providers/offline.ts";
import { scripted } from "../../plugins/providers/scripted.ts";
import resources from "../../plugins/resources/index.ts";
import rpc from "../../plugins/rpc/index.ts";
import session from "../../plugins/session/index.ts";
import settings from "../../plugins/settings/index.ts";
import slashCommands from "../../plugins/slash-commands/index.ts";
import state from "../../plugins/state/index.ts";
import systemPrompt from "../../plugins/system-prompt/index.ts";
import { active } from "../../plugins/tools/active.ts";
import { bash } from "../../plugins/tools/bash.ts";
import { blockedImages } from "../../plugins/tools/blocked-images.ts";
import { read } from "../../plugins/tools/read.ts";
import trust from "../../plugins/trust/index.ts";
import watching from "../../plugins/watching/index.ts";

const minimal: PluginList = [
  [faults, settings, watching, trust, resources, loader],
  [session, models, offline, scripted],
  [read, bash, active, blockedImages, systemPrompt],
  [slashCommands, extensions],
  [prompting, state, piDialect, rpc],
];

export default minimal;
