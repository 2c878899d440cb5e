/** What `import … from "@mariozechner/pi-coding-agent"` gives extensions at run time. */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { AgentMessage, UserMessage } from "../../../core/index.ts";
import {
  DEFAULT_COMPACTION_SETTINGS,
  findCutPoint,
  findTurnStartIndex,
  getLastAssistantUsage,
  getLatestCompactionEntry,
  shouldCompact,
} from "../../compaction/cut.ts";
import type { Credential } from "../../models/contract.ts";
import type { SessionEntry } from "../../session/contract.ts";
import { defineSessionManager } from "../../session/manager.ts";
import { calculateContextTokens, convertToLlm, estimateTokens, serializeConversation } from "../../shared/conversation.ts";
import { splitFrontmatter } from "../../shared/frontmatter.ts";
import { homeDirectory } from "../../shared/paths.ts";
import { buildSessionContext, contextEntries, entryMessage, projectionOf } from "../../shared/session-context.ts";
import * as tools from "../../tools/factories.ts";
import type { Instance } from "../instance.ts";
import { createModelRegistry } from "../model-registry.ts";
import type { Runtime } from "../runtime.ts";
import { AgentSession, agentSessions } from "./agent-session.ts";
import { generateBranchSummary } from "./branch-summary.ts";
import { summaryFunctions } from "./compact.ts";
import * as components from "./components.ts";
import { parseFrontmatter } from "./frontmatter.ts";
import { generateDiffString, generateUnifiedPatch } from "./line-diff.ts";
import { resizeImage } from "./resize-image.ts";
import { createResourceLoaderClass } from "./resource-loader.ts";
import { createSettingsManagerClass } from "./settings-manager.ts";
import { skillFunctions } from "./skills.ts";
import * as theme from "./theme.ts";
import { withRenderers } from "./tool-renderers.ts";
import { unavailable } from "./unavailable.ts";

/** The version of the API that is spoken here, not of this program: extensions compare it. */
const API_VERSION = "0.87.1";

const withoutHost = "AgentSessionRuntime InteractiveMode DefaultPackageManager RpcClient ExtensionRunner LoginDialogComponent".split(" ");

export function createCodingAgentModule(runtime: Runtime): object {
  const settings = () => runtime.kernel.tryService("settings");
  const configDir = settings()?.branding.configDir ?? ".pi";
  const agentDir = () => settings()?.agentDir() ?? join(homeDirectory(), configDir, "agent");
  return {
    VERSION: API_VERSION,
    APP_NAME: settings()?.branding.name ?? "pi",
    CONFIG_DIR_NAME: configDir,
    CURRENT_SESSION_VERSION: 3,
    getAgentDir: agentDir,
    getPackageDir,
    getReadmePath: () => join(getPackageDir(), "README.md"),
    getDocsPath: () => join(getPackageDir(), "docs"),
    getExamplesPath: () => join(getPackageDir(), "examples"),
    getSettingsPath: () => join(agentDir(), "settings.json"),
    getSessionsDir: () => join(agentDir(), "sessions"),

    // tools
    ...tools,
    ...definitions(),
    generateDiffString,
    generateUnifiedPatch,
    defineTool: <T>(definition: T): T => definition,
    isToolCallEventType: (name: string, event: { toolName: string }) => event.toolName === name,
    isBashToolResult: isResultOf("bash"),
    isReadToolResult: isResultOf("read"),
    isEditToolResult: isResultOf("edit"),
    isWriteToolResult: isResultOf("write"),
    isGrepToolResult: isResultOf("grep"),
    isFindToolResult: isResultOf("find"),
    isLsToolResult: isResultOf("ls"),
    isPowerShellToolResult: isResultOf("powershell"),

    // conversations and sessions
    SessionManager: defineSessionManager({ agentDir, cwd: () => runtime.cwd }),
    buildSessionContext,
    buildContextEntries: (entries: SessionEntry[]) => contextEntries(entries),
    buildSessionProjection: (entries: SessionEntry[]) => projectionOf(contextEntries(entries)),
    sessionEntryToContextMessages: (entry: SessionEntry) => [entryMessage(entry)].filter((message) => message !== undefined),
    getLatestCompactionEntry,
    parseSessionEntries,
    convertToLlm: (messages: AgentMessage[]) => convertToLlm(messages, keepSystem),
    serializeConversation,
    estimateTokens,
    calculateContextTokens,
    getLastAssistantUsage,
    DEFAULT_COMPACTION_SETTINGS,
    shouldCompact,
    findCutPoint,
    findTurnStartIndex,
    ...summaryFunctions(runtime),
    generateBranchSummary: (entries: SessionEntry[], options: Parameters<typeof generateBranchSummary>[2]) => generateBranchSummary(runtime, entries, options),
    parseFrontmatter,
    stripFrontmatter: (text: string) => splitFrontmatter(text).body,
    parseSkillBlock,
    ...skillFunctions({ cwd: () => runtime.cwd, agentDir, configDir }),
    resizeImage,
    createSyntheticSourceInfo: (path: string, given: object = {}) => ({ path, source: "local", scope: "temporary", origin: "top-level", ...given }),

    // configuration
    SettingsManager: createSettingsManagerClass({ cwd: () => runtime.cwd, agentDir, configDir }),
    AuthStorage: createAuthStorageClass(runtime, agentDir),
    ModelRegistry: createModelRegistryClass(runtime),
    readStoredCredential: (provider: string) => readCredentials(join(agentDir(), "auth.json"))[provider],
    createEventBus,

    // the screen
    ...components,
    ...theme,
    copyToClipboard: async () => {
      throw new Error("There is no clipboard without a terminal.");
    },

    // what needs the inside of another program
    ...Object.fromEntries(withoutHost.map((name) => [name, unavailable(name)])),
    createExtensionRuntime: () => ({ flagValues: new Map(), pendingProviderRegistrations: [] }),
    createAgentSession: agentSessions(runtime),
    AgentSession,
    DefaultResourceLoader: createResourceLoaderClass(runtime),
  };
}

/** System messages of newer sessions pass. */
function keepSystem(message: AgentMessage): UserMessage | undefined {
  return (message as { role: string }).role === "system" ? (message as unknown as UserMessage) : undefined;
}

/** `createReadToolDefinition` and its like: the tools with what draws them. */
function definitions(): Record<string, unknown> {
  const factories = Object.entries(tools).filter(([name]) => /^create\w+Tool$/.test(name)) as [string, (...args: unknown[]) => { name: string }][];
  return Object.fromEntries(factories.map(([name, factory]) => [`${name}Definition`, (...args: unknown[]) => withRenderers(factory(...args))]));
}

function isResultOf(tool: string) {
  return (event: { toolName?: string }): boolean => event?.toolName === tool;
}

function parseSkillBlock(text: string): { name: string; location: string; content: string; userMessage?: string } | null {
  const found = /^<skill name="([^"]+)" location="([^"]+)">\n([\s\S]*?)\n<\/skill>(?:\n\n([\s\S]+))?$/.exec(text);
  if (!found) return null;
  const [, name = "", location = "", content = "", userMessage] = found;
  return { name, location, content, ...(userMessage !== undefined && { userMessage: userMessage.trim() }) };
}

function parseSessionEntries(text: string): unknown[] {
  return text.split("\n").flatMap((line) => {
    try {
      return line.trim() ? [JSON.parse(line)] : [];
    } catch {
      return [];
    }
  });
}

/** The directory of this program's package: the nearest one above with a package.json. */
function getPackageDir(): string {
  let directory = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(directory, "package.json")) && dirname(directory) !== directory) directory = dirname(directory);
  return directory;
}

function createEventBus() {
  const channels = new Map<string, Set<(data: unknown) => unknown>>();
  return {
    emit: (channel: string, data: unknown) => {
      for (const handler of channels.get(channel) ?? []) handler(data);
    },
    on: (channel: string, handler: (data: unknown) => unknown) => {
      channels.set(channel, (channels.get(channel) ?? new Set()).add(handler));
      return () => channels.get(channel)?.delete(handler);
    },
    clear: () => channels.clear(),
  };
}

type Credentials = Record<string, { type: string; key?: string; access?: string } | undefined>;

function readCredentials(file: string): Credentials {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as Credentials;
  } catch {
    return {};
  }
}

function createAuthStorageClass(runtime: Runtime, agentDir: () => string) {
  const models = () => runtime.kernel.tryService("models");
  return class AuthStorage {
    readonly #file: string;

    constructor(file = join(agentDir(), "auth.json")) {
      this.#file = file;
    }
    static create(file?: string): AuthStorage {
      return new AuthStorage(file);
    }
    get = (provider: string) => readCredentials(this.#file)[provider];
    has = (provider: string): boolean => this.get(provider) !== undefined;
    /** also by a variable or a configuration */
    hasAuth = (provider: string): boolean => this.has(provider) || models()?.authStatus(provider).configured === true;
    set = async (provider: string, credential: Credential): Promise<void> => models()?.setCredential(provider, credential);
    remove = async (provider: string): Promise<void> => models()?.setCredential(provider, undefined);
    reload(): void {}
    list = (): string[] => Object.keys(readCredentials(this.#file));
    getApiKey = async (provider: string): Promise<string | undefined> => this.get(provider)?.key ?? this.get(provider)?.access;
  };
}

/** The open agent's models, whoever asks. */
function createModelRegistryClass(runtime: Runtime) {
  const anybody = { assertUsable() {}, providers: new Map(), state: "failed" } as unknown as Instance;
  return class ModelRegistry {
    constructor() {
      Object.assign(this, createModelRegistry(runtime, anybody));
    }
    static create(): ModelRegistry {
      return new ModelRegistry();
    }
    static inMemory(): ModelRegistry {
      return new ModelRegistry();
    }
  };
}
