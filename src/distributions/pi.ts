/** Everything: the list that `pi` is made of. The order is the order of loading. */
import type { PluginList } from "../../core/index.ts";
import authoring from "../../plugins/authoring/index.ts";
import chat from "../../plugins/chat/index.ts";
import compaction from "../../plugins/compaction/index.ts";
import completions from "../../plugins/completions/index.ts";
import dialects from "../../plugins/dialects/index.ts";
import exportHtml from "../../plugins/export-html/index.ts";
import extensions from "../../plugins/extensions/index.ts";
import faults from "../../plugins/faults/index.ts";
import hostTools from "../../plugins/host-tools/index.ts";
import loader from "../../plugins/loader/index.ts";
import models from "../../plugins/models/index.ts";
import packages from "../../plugins/packages/index.ts";
import print from "../../plugins/print/index.ts";
import prompting from "../../plugins/prompting/index.ts";
import catalog from "../../plugins/providers/catalog/index.ts";
import wireApis from "../../plugins/providers/index.ts";
import { offline } from "../../plugins/providers/offline.ts";
import { scripted } from "../../plugins/providers/scripted.ts";
import replay from "../../plugins/replay/index.ts";
import resources from "../../plugins/resources/index.ts";
import retry from "../../plugins/retry/index.ts";
import rpc from "../../plugins/rpc/index.ts";
import session from "../../plugins/session/index.ts";
import settings from "../../plugins/settings/index.ts";
import skills from "../../plugins/skills/index.ts";
import slashCommands from "../../plugins/slash-commands/index.ts";
import state from "../../plugins/state/index.ts";
import streamRules from "../../plugins/stream-rules/index.ts";
import systemPrompt from "../../plugins/system-prompt/index.ts";
import templates from "../../plugins/templates/index.ts";
import todos from "../../plugins/todos/index.ts";
import tools from "../../plugins/tools/index.ts";
import trust from "../../plugins/trust/index.ts";
import userBash from "../../plugins/user-bash/index.ts";
import watching from "../../plugins/watching/index.ts";

const pi: PluginList = [
  // places and configuration
  faults,
  settings,
  watching,
  // before all that may ask the client something while the agent starts
  dialects,
  rpc,
  trust,
  resources,
  packages,
  loader,
  // the conversation and its models
  session,
  models,
  catalog,
  wireApis,
  offline,
  scripted,
  replay,
  retry,
  compaction,
  // what the model can do and is told
  tools,
  systemPrompt,
  userBash,
  hostTools,
  todos,
  streamRules,
  // what a text may become
  slashCommands,
  skills,
  templates,
  // what users add
  extensions,
  // ways to reach the agent
  prompting,
  state,
  exportHtml,
  completions,
  authoring,
  print,
  chat,
];

export default pi;
