/** models.json, auth.json, values with variables and commands, and the layers of a provider. */
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { definePlugin, Kernel, type Model, type Plugin } from "../../core/index.ts";
import type { Models, OAuthProvider, ProviderLayer } from "../../plugins/models/contract.ts";
import { parseCustomModels } from "../../plugins/models/custom.ts";
import models from "../../plugins/models/index.ts";
import { buildProvider } from "../../plugins/models/layers.ts";
import { interpolate, resolveValue, variablesOf } from "../../plugins/models/values.ts";
import settings from "../../plugins/settings/index.ts";
import { tempDir } from "../helpers/pi.ts";

const base: Model = {
  id: "a",
  name: "A",
  api: "anthropic-messages",
  provider: "p",
  baseUrl: "https://p.example",
  reasoning: true,
  input: ["text", "image"],
  cost: { input: 1, output: 2, cacheRead: 0.1, cacheWrite: 1.25 },
  contextWindow: 200_000,
  maxTokens: 64_000,
};
const source = { name: "p", models: [base, { ...base, id: "b", api: "openai-completions", baseUrl: "https://b.example" }] };

describe("values", () => {
  const variables: Record<string, string> = { KEY: "secret", PART_2: "two" };
  const env = (name: string) => variables[name];
  test.each([
    ["literal", "literal"],
    ["$KEY", "secret"],
    ["x-$" + "{KEY}-$PART_2!", "x-secret-two!"],
    ["$$KEY", "$KEY"],
    ["$!echo", "!echo"],
    ["cost 5$", "cost 5$"],
    ["$MISSING", undefined],
    ["a$" + "{MISSING}b", undefined],
    ["", undefined],
  ])("%s is %s", (value, expected) => expect(interpolate(value, env)).toBe(expected));
  test("variables", () => expect(variablesOf("$A-$" + "{B_1}$$C")).toEqual(["A", "B_1"]));
  test("a command's output, trimmed; failure and silence are nothing", async () => {
    expect(await resolveValue("!printf ' key \\n'", env)).toBe("key");
    expect(await resolveValue("!echo key; exit 3", env)).toBe(undefined);
    expect(await resolveValue("!true", env)).toBe(undefined);
    expect(await resolveValue("!no-such-program-at-all", env)).toBe(undefined);
  });
});

describe("models.json", () => {
  test("comments and a byte order mark are allowed, also beside strings that look like comments", () => {
    const text = '\uFEFF// mine\n{ "providers": { /* here */ "p": { "baseUrl": "http://x//y", "apiKey": "/*no*/" } } }';
    expect(parseCustomModels(text).get("p")).toEqual({ baseUrl: "http://x//y", apiKey: "/*no*/" });
  });
  test("a mistake is told without the key beside it", () => {
    for (const text of ['{"providers":{"p":{"apiKey": sk-literal-key}}}', '{"apiKey":"a" sk-literal-key}', "sk-literal-key"]) {
      expect(() => parseCustomModels(text)).toThrow(/it is not valid JSON \(line \d/);
      expect(() => parseCustomModels(text)).not.toThrow("literal");
    }
  });
  test.each([
    ["[]", "the file must be an object"],
    ["{}", "providers must be an object"],
    ['{"providers":{"p":{"models":[{"name":"x"}]}}}', "providers.p.models[0].id must be a non-empty string"],
    ['{"providers":{"p":{"models":[{"id":"x","contextWindow":"big"}]}}}', "providers.p.models[0].contextWindow must be a positive number"],
    ['{"providers":{"p":{"models":[{"id":"x","thinkingLevelMap":{"huge":"x"}}]}}}', "thinkingLevelMap must be"],
    ['{"providers":{"p":{"models":[{"id":"x","cost":{"tiers":[{}]}}]}}}', "cost.tiers[0].inputTokensAbove must be a number"],
    ['{"providers":{"p":{"headers":{"a":1}}}}', "providers.p.headers must be an object of strings"],
    ['{"providers":{"p":{"modelOverrides":{"x":{"reasoning":"yes"}}}}}', 'modelOverrides["x"].reasoning must be true or false'],
    ["{", "JSON"],
  ])("%s is refused", (text, message) => expect(() => parseCustomModels(text)).toThrow(message));

  test("a new provider gets defaults", () => {
    const custom = { baseUrl: "http://x", api: "openai-completions", models: [{ id: "m" }] };
    expect(buildProvider({ id: "n", custom, extensions: [] }).models).toEqual([
      {
        id: "m",
        name: "m",
        api: "openai-completions",
        provider: "n",
        baseUrl: "http://x",
        reasoning: false,
        input: ["text"],
        cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
        contextWindow: 128_000,
        maxTokens: 16_384,
      },
    ]);
  });
  test("a known id is replaced and takes what is missing from its namesake, a new one is appended and takes it from a relative", () => {
    const view = buildProvider({ id: "p", source, custom: { models: [{ id: "a" }, { id: "c" }, { id: "d", api: "anthropic-messages" }] }, extensions: [] });
    expect(view.models.map(({ id, api, baseUrl, maxTokens }) => [id, api, baseUrl, maxTokens])).toEqual([
      ["a", "anthropic-messages", "https://p.example", 16_384],
      ["b", "openai-completions", "https://b.example", 64_000],
      ["c", "openai-completions", "https://b.example", 16_384],
      ["d", "anthropic-messages", "https://p.example", 16_384],
    ]);
  });
  test.each([
    [{ models: [{ id: "m" }] }, 'no "api"'],
    [{ models: [{ id: "m", api: "openai-completions" }] }, 'no "baseUrl"'],
    [{}, "says nothing"],
    [{ models: [] }, "says nothing"],
    [{ api: "openai-completions" }, "says nothing"],
  ])("%j alone is an error", (custom, message) => expect(() => buildProvider({ id: "n", custom, extensions: [] })).toThrow(message));
  test("address, headers and compat apply to the models that are there; header values never stand in a model", () => {
    const custom = { baseUrl: "http://proxy", headers: { "X-Team": "$TEAM" }, compat: { supportsStore: false } };
    const view = buildProvider({ id: "p", source, custom, extensions: [] });
    expect(view.models.map(({ baseUrl, compat, headers }) => [baseUrl, compat, headers])).toEqual([
      ["http://proxy", { supportsStore: false }, undefined],
      ["http://proxy", { supportsStore: false }, undefined],
    ]);
    expect(view.headers).toEqual({ "X-Team": "$TEAM" });
  });
  test("overrides come last, over what an extension registers", () => {
    const layer: ProviderLayer = {
      name: "p@x",
      provider: "p",
      baseUrl: "http://ext",
      api: "openai-completions",
      apiKey: "k",
      models: [{ id: "z", maxTokens: 5 }],
    };
    const override = { name: "Zed", cost: { output: 9 }, headers: { H: "1" }, thinkingLevelMap: { xhigh: "x" } };
    const custom = { apiKey: "own", modelOverrides: { z: override, unknown: { name: "x" } } };
    const view = buildProvider({ id: "p", source, custom, extensions: [layer] });
    expect(view.models).toMatchObject([
      { id: "z", name: "Zed", maxTokens: 5, baseUrl: "http://ext", cost: { input: 0, output: 9 }, thinkingLevelMap: { xhigh: "x" } },
    ]);
    expect(view.modelHeaders.get("z")).toEqual({ H: "1" });
    expect(view.keys.map(({ value }) => value)).toEqual(["k", "own"]);
  });
  test("an extension that only gives an address keeps the models", () => {
    const view = buildProvider({ id: "p", source, extensions: [{ name: "p@x", provider: "p", baseUrl: "http://ext" }] });
    expect(view.models.map(({ id, baseUrl }) => [id, baseUrl])).toEqual([
      ["a", "http://ext"],
      ["b", "http://ext"],
    ]);
  });
});

// ---------------------------------------------------------------- the service

interface Given {
  files?: Record<string, unknown>;
  env?: Record<string, string>;
  options?: Record<string, unknown>;
  plugins?: Plugin[];
}

async function service({ files = {}, env = {}, options = {}, plugins = [] }: Given) {
  const agentDir = tempDir();
  for (const [name, content] of Object.entries(files)) writeFileSync(join(agentDir, name), typeof content === "string" ? content : JSON.stringify(content));
  const kernel = new Kernel();
  const faults: string[] = [];
  const source = definePlugin({
    name: "test-source",
    apply(view) {
      const keys = { keyVariables: ["P_TOKEN", "P_API_KEY"], bearerVariables: { P_TOKEN: { "p-beta": "1" } } };
      view.registry("modelSources").add({ name: "p", displayName: "Pe", models: [base], defaultModel: "a", ...keys });
      view.hooks.fault.tap("test", ({ error }) => void faults.push((error as Error).message));
    },
  });
  await kernel.useAll([settings, models, source, ...plugins]);
  await kernel.start({ cwd: agentDir, env: { HOME: agentDir, PI_CODING_AGENT_DIR: agentDir, ...env }, ...options });
  return { kernel, models: kernel.service("models"), agentDir, faults };
}

const model = (models: Models, provider = "p", id = "a") => models.find(provider, id) as Model;
const custom = (providers: Record<string, unknown>) => ({ "models.json": { providers } });

describe("the order of credentials", () => {
  const extension = definePlugin({
    name: "ext",
    apply: (kernel) => void kernel.registry("modelLayers").add({ name: "p@ext", provider: "p", apiKey: "EXT_KEY" }),
  });

  test("--api-key, stored, extension, models.json, environment", async () => {
    const everything: Given = {
      files: { "auth.json": { p: { type: "api_key", key: "$STORED" } }, ...custom({ p: { apiKey: "configured" } }) },
      env: { STORED: "stored", P_API_KEY: "environment" },
    };
    const runtime = await service({ ...everything, options: { "api-key": "!runtime$KEY", model: "p/a" } });
    expect(await runtime.models.auth(model(runtime.models))).toEqual({ apiKey: "!runtime$KEY" });
    expect(runtime.models.authStatus("p")).toMatchObject({ configured: true, source: "runtime" });

    const stored = await service({ ...everything, plugins: [extension] });
    expect(await stored.models.auth(model(stored.models))).toEqual({ apiKey: "stored" });

    const extended = await service({ files: custom({ p: { apiKey: "configured" } }), env: { EXT_KEY: "extended" }, plugins: [extension] });
    expect(await extended.models.auth(model(extended.models))).toEqual({ apiKey: "extended" });

    const configured = await service({ files: custom({ p: { apiKey: "configured" } }), env: { P_API_KEY: "environment" } });
    expect(await configured.models.auth(model(configured.models))).toEqual({ apiKey: "configured" });

    const environment = await service({ env: { P_API_KEY: "environment" } });
    expect(await environment.models.auth(model(environment.models))).toEqual({ apiKey: "environment" });
    expect(environment.models.authStatus("p")).toEqual({ configured: true, source: "environment", label: "P_API_KEY" });
  });

  test("--api-key goes to the provider of the chosen model and to no other", async () => {
    const other = { ...base, id: "p/hosted", provider: "o" };
    const plugin = definePlugin({ name: "o", apply: (kernel) => void kernel.registry("modelSources").add({ name: "o", models: [other] }) });
    const { models } = await service({ plugins: [plugin], options: { "api-key": "runtime", model: "p/hosted" } });
    expect(models.current()?.provider).toBe("o");
    expect(models.authStatus("p")).toEqual({ configured: false });
    expect(await models.auth(other)).toEqual({ apiKey: "runtime" });
  });

  test("a variable for a bearer token is sent as a header", async () => {
    const { models } = await service({ env: { P_TOKEN: "token", P_API_KEY: "key" } });
    expect(await models.auth(model(models))).toEqual({ headers: { Authorization: "Bearer token", "p-beta": "1" } });
  });

  test("without one: not available, and the refusal names the variable", async () => {
    const { models } = await service({});
    expect(models.available()).toEqual([]);
    expect(models.all()).toHaveLength(1);
    await expect(models.requireAuth(model(models))).rejects.toThrow("No API key found for p. Set P_API_KEY or add it to auth.json.");
  });

  test("a stored credential that does not fit or cannot be filled in is none, whatever else is there", async () => {
    const oauth = { type: "oauth", access: "a", refresh: "r", expires: 1 };
    const unfit = await service({ files: { "auth.json": { p: oauth } }, env: { P_API_KEY: "environment" } });
    expect(unfit.models.authStatus("p")).toEqual({ configured: false });
    const empty = await service({ files: { "auth.json": { p: { type: "api_key", key: "$NOWHERE" } } }, env: { P_API_KEY: "environment" } });
    expect(await empty.models.auth(model(empty.models))).toBe(undefined);
  });

  test("a key that is configured and gives nothing is told, with the place and without the value", async () => {
    const told = async (key: string, place: "auth.json" | "models.json") => {
      const stored = { "auth.json": { p: { type: "api_key", key } } };
      const { models, faults } = await service({ files: place === "auth.json" ? stored : custom({ p: { apiKey: key } }) });
      for (let times = 0; times < 2; times++) await expect(models.requireAuth(model(models))).rejects.toThrow("No API key found for p.");
      return faults;
    };
    expect(await told("a-$NOWHERE-$NONE", "auth.json")).toEqual(["The key of p (auth.json) needs $NOWHERE and $NONE to be set"]);
    expect(await told("!false # secret", "auth.json")).toEqual(["The command for the key of p (auth.json) failed or printed nothing"]);
    expect(await told("!true # secret", "models.json")).toEqual(["The command for the key of p (models.json) failed or printed nothing"]);
    expect(await told("", "auth.json")).toEqual(["The key of p (auth.json) is empty"]);
    const login = await service({ files: { "auth.json": { p: { type: "oauth", access: "a", refresh: "r", expires: 1 } } } });
    await expect(login.models.requireAuth(model(login.models))).rejects.toThrow("No API key found for p.");
    expect(login.faults).toEqual(["auth.json has a login for p, which nothing here can use"]);
  });

  test("a stored entry may bring variables of its own", async () => {
    const { models } = await service({ files: { "auth.json": { p: { type: "api_key", env: { P_API_KEY: "own" } } } } });
    expect(await models.auth(model(models))).toEqual({ apiKey: "own", env: { P_API_KEY: "own" } });
  });

  test("headers are filled in per request, those with a missing variable are left out, authHeader adds the bearer", async () => {
    const headers = { "X-Team": "team-$TEAM", "X-None": "$NONE" };
    const config = { apiKey: "$KEY", authHeader: true, headers, modelOverrides: { a: { headers: { "X-Model": "!echo made" } } } };
    const { models } = await service({ files: custom({ p: config }), env: { KEY: "key", TEAM: "blue" } });
    expect(await models.auth(model(models))).toEqual({ apiKey: "key", headers: { "X-Team": "team-blue", "X-Model": "made", Authorization: "Bearer key" } });
    expect(JSON.stringify(models.all())).not.toContain("blue");
  });

  test("a command in models.json runs for each request, one in auth.json once", async () => {
    const counter = join(tempDir(), "count");
    const count = `!echo x >> ${counter}; wc -l < ${counter}`;
    const perRequest = await service({ files: custom({ p: { apiKey: count } }) });
    expect((await perRequest.models.auth(model(perRequest.models)))?.apiKey).toBe("1");
    expect((await perRequest.models.auth(model(perRequest.models)))?.apiKey).toBe("2");
    const once = await service({ files: { "auth.json": { p: { type: "api_key", key: count } } } });
    expect((await once.models.auth(model(once.models)))?.apiKey).toBe("3");
    expect((await once.models.auth(model(once.models)))?.apiKey).toBe("3");
    const failing = await service({ files: custom({ p: { apiKey: "!false" } }) });
    await expect(failing.models.requireAuth(model(failing.models))).rejects.toThrow("No API key found for p.");
  });
});

describe("auth.json", () => {
  test("is written for its owner only, keeps other entries and is noticed at once", async () => {
    const { models, agentDir } = await service({});
    const file = join(agentDir, "auth.json");
    await models.setCredential("p", { type: "api_key", key: "fresh-key" });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(models.hasAuth(model(models))).toBe(true);
    writeFileSync(file, JSON.stringify({ other: { type: "api_key", key: "by hand" }, strange: 1 }));
    expect(models.hasAuth(model(models))).toBe(false);
    await models.setCredential("p", { type: "api_key", key: "again" });
    expect(JSON.parse(readFileSync(file, "utf8"))).toEqual({ other: { type: "api_key", key: "by hand" }, strange: 1, p: { type: "api_key", key: "again" } });
    await models.setCredential("p", undefined);
    expect(models.credential("p")).toBe(undefined);
    expect(existsSync(`${file}.lock`)).toBe(false);
  });

  test("a broken file is reported without its content and not overwritten", async () => {
    const { models, faults, agentDir } = await service({ files: { "auth.json": '{"p": {"type":"api_key","key":"sk-secret-12345" oops' } });
    expect(models.hasAuth(model(models))).toBe(false);
    expect(faults).toHaveLength(1);
    expect(faults[0]).toContain("auth.json");
    expect(faults[0]).not.toContain("secret");
    await expect(models.setCredential("p", { type: "api_key", key: "k" })).rejects.toThrow("not overwritten");
    expect(readFileSync(join(agentDir, "auth.json"), "utf8")).toContain("oops");
  });

  test("what is no credential is named, without its content, and kept", async () => {
    const strange = {
      a: { type: "session", token: "sk-secret-1" },
      b: { type: "api_key", key: 5 },
      c: "sk-secret-2",
      d: { type: "api_key", kee: "sk-secret-3" },
      p: { type: "api_key", key: "good" },
    };
    const { models, faults } = await service({ files: { "auth.json": strange } });
    expect(models.hasAuth(model(models))).toBe(true);
    expect(faults).toHaveLength(1);
    expect(faults[0]).toContain("auth.json");
    expect(faults[0]).toContain("a, b, c, d;");
    expect(faults[0]).not.toContain("secret");
  });

  test("a file that cannot be read is reported and not replaced", async () => {
    const { models, faults, agentDir } = await service({});
    mkdirSync(join(agentDir, "auth.json"));
    expect(models.hasAuth(model(models))).toBe(false);
    expect(faults).toEqual([expect.stringContaining("cannot be read (EISDIR)")]);
    await expect(models.setCredential("p", { type: "api_key", key: "k" })).rejects.toThrow("cannot be read (EISDIR); it is not overwritten");
    expect(statSync(join(agentDir, "auth.json")).isDirectory()).toBe(true);
  });

  test("a login is refreshed once for concurrent requests, and stored", async () => {
    let refreshed = 0;
    const provider: OAuthProvider = {
      name: "p",
      async refreshToken(credential) {
        refreshed++;
        if (credential.refresh === "bad") throw new Error("gone");
        return { access: `fresh-${credential.refresh}`, refresh: "next", expires: Date.now() + 60_000 };
      },
      getApiKey: ({ access }) => `key-${access}`,
    };
    const oauth = definePlugin({ name: "oauth", apply: (kernel) => void kernel.registry("oauth").add(provider) });
    const login = (refresh: string) => ({ "auth.json": { p: { type: "oauth", access: "old", refresh, expires: 1, extra: true } } });
    const { models } = await service({ files: login("one"), plugins: [oauth] });
    expect(models.usesOAuth("p")).toBe(true);
    expect(await Promise.all([models.auth(model(models)), models.providerAuth("p")])).toEqual([{ apiKey: "key-fresh-one" }, { apiKey: "key-fresh-one" }]);
    expect(refreshed).toBe(1);
    expect(models.credential("p")).toMatchObject({ access: "fresh-one", refresh: "next", extra: true });
    const broken = await service({ files: login("bad"), plugins: [oauth] });
    await expect(broken.models.auth(model(broken.models))).rejects.toThrow("The login of Pe could not be refreshed: gone");
  });
});

describe("the service", () => {
  test("models.json is read again when it is asked to; its error is kept and said once", async () => {
    const { models, agentDir, faults } = await service({ files: { "models.json": "{ not json" } });
    expect(models.error()).toContain("models.json");
    await models.refresh();
    expect(faults).toHaveLength(1);
    const q = { baseUrl: "http://q", api: "openai-completions", apiKey: "none", models: [{ id: "m" }] };
    writeFileSync(join(agentDir, "models.json"), JSON.stringify({ providers: { q, r: { models: [{ id: "x" }] }, s: {} } }));
    await models.refresh();
    expect(models.error()).toMatch(/provider "r".*no "api"[\s\S]*provider "s" says nothing/);
    expect(models.available().map(({ provider, id }) => `${provider}/${id}`)).toEqual(["q/m"]);
    writeFileSync(join(agentDir, "models.json"), '{"providers":{}}');
    await models.refresh();
    expect(models.error()).toBe(undefined);
    expect(models.find("q", "m")).toBe(undefined);
  });

  test("the current model is the newest form of itself", async () => {
    const { models, agentDir } = await service({ env: { P_API_KEY: "k" } });
    expect(models.current()?.name).toBe("A");
    writeFileSync(join(agentDir, "models.json"), JSON.stringify({ providers: { p: { modelOverrides: { a: { name: "Renamed" } } } } }));
    await models.refresh();
    expect(models.current()?.name).toBe("Renamed");
  });

  test("secrets are known from all places; place-holders are none", async () => {
    const oauth = { type: "oauth", access: "access-secret", refresh: "refresh-secret", expires: 1 };
    const q = { baseUrl: "http://q", api: "x", apiKey: "config-secret", headers: { H: "Bearer $HEAD" }, models: [{ id: "m" }] };
    const { models } = await service({
      files: {
        "auth.json": { x: { type: "api_key", key: "stored-secret" }, y: oauth },
        ...custom({ q, z: { baseUrl: "http://z", api: "x", apiKey: "none", models: [{ id: "m" }] } }),
      },
      env: { P_API_KEY: "environment-secret", HEAD: "header-secret" },
      options: { "api-key": "runtime-secret", model: "q/m" },
    });
    expect([...models.secrets()].sort()).toEqual([
      "Bearer header-secret",
      "access-secret",
      "config-secret",
      "environment-secret",
      "refresh-secret",
      "runtime-secret",
      "stored-secret",
    ]);
  });

  test("a layer that cannot be used is refused", async () => {
    const { models } = await service({});
    const layer = (fields: Partial<ProviderLayer>): ProviderLayer => ({ name: "n@x", provider: "n", ...fields });
    expect(() => models.checkLayer(layer({ models: [{ id: "m" }] }))).toThrow('no "api"');
    expect(() => models.checkLayer(layer({ api: "x", models: [{ id: "m" }] }))).toThrow('no "baseUrl"');
    expect(() => models.checkLayer(layer({ api: "x", baseUrl: "http://n", models: [{ id: "m" }] }))).toThrow("no way to authenticate");
    expect(() => models.checkLayer(layer({ api: "x", baseUrl: "http://n", apiKey: "k", models: [{ id: "m" }] }))).not.toThrow();
  });

  test("unloading leaves nothing behind", async () => {
    const { kernel } = await service({});
    await kernel.removeAll();
    expect(kernel.leftovers()).toEqual([]);
  });
});
