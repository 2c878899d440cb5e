/** Providers that extensions register as an object, and the models that they ask for and keep. */
import { expect, test } from "vitest";
import { answers, command, errors, notice } from "../extensions/helpers.ts";
import { startRpc } from "../helpers/pi.ts";

const helpers = `import { createAssistantMessageEventStream, createProvider, envApiKeyAuth, lazyOAuth } from "@earendil-works/pi-ai";
  const model = (id: string, api = "mine-api") => ({ id, name: id, api, provider: "mine", baseUrl: "http://one", reasoning: false, input: ["text"], cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }, contextWindow: 1000, maxTokens: 10 });
  const say = (write: (model: any, options: any) => string) => (model: any, context: any, options: any) => {
    const stream = createAssistantMessageEventStream();
    stream.push({ type: "done", reason: "stop", message: { role: "assistant", content: [{ type: "text", text: write(model, options) }] } } as any);
    stream.end();
    return stream;
  };
  const list = (pi: any) => pi.registerCommand("list", { handler: (_: string, ctx: any) => ctx.ui.notify(ctx.modelRegistry.getAvailable().filter((m: any) => m.provider === "mine").map((m: any) => m.id).join()) });`;

const withKey = `${helpers}
  export default (pi: any) => {
    const streamSimple = say((model, options) => [model.id, model.baseUrl, options.apiKey, options.headers["x-mine"], options.headers["x-key"]].join(" "));
    pi.registerProvider(createProvider({
      id: "mine", name: "Mine", baseUrl: "http://one", headers: { "x-mine": "$1" },
      auth: { apiKey: { name: "key", async resolve({ ctx, credential }: any) {
        const key = credential?.key ?? (await ctx.env("MINE_KEY"));
        return key ? { auth: { apiKey: key, baseUrl: "http://two", headers: { "x-key": key + "!" } }, source: "MINE_KEY" } : undefined;
      } } },
      models: [model("first")], fetchModels: async () => [model("second", "other-api")], api: { streamSimple },
    } as any));
    list(pi);
  };`;

test("a provider object is there when the model is chosen, resolves its credential for each request and brings more models later", async () => {
  const rpc = startRpc({ args: ["--model", "mine/first"], agentFiles: { "extensions/p.ts": withKey }, env: { MINE_KEY: "$ecret" } });
  expect(answers(await rpc.prompt("hi"))).toEqual(["first http://two $ecret $1 $ecret!"]);
  await expect.poll(() => command(rpc, "/list")).toEqual(["first,second"]);
  await rpc.ask("set_model", { provider: "mine", modelId: "second" });
  expect(answers(await rpc.prompt("hi"))).toEqual(["second http://two $ecret $1 $ecret!"]);
  await rpc.ask("reload");
  expect(answers(await rpc.prompt("hi"))).toEqual(["second http://two $ecret $1 $ecret!"]);
  expect(errors(rpc)).toEqual([]);
});

test("a provider object without a credential has models that are not available, and a stored key makes them so", async () => {
  const without = startRpc({ args: ["--model", "mine/first"], agentFiles: { "extensions/p.ts": withKey } });
  expect(await without.call("prompt", { message: "hi" })).toMatchObject({ success: false, error: expect.stringContaining("No API key found for mine") });
  expect(await command(without, "/list")).toEqual([""]);
  const agentFiles = { "extensions/p.ts": withKey, "auth.json": JSON.stringify({ mine: { type: "api_key", key: "$STORED" } }) };
  const stored = startRpc({ args: ["--model", "mine/first"], agentFiles, env: { STORED: "kept" } });
  expect(answers(await stored.prompt("hi"))).toEqual(["first http://two kept $1 kept!"]);
});

test("a login of a provider object is refreshed and used in its own words", async () => {
  const login = { type: "oauth", access: "old", refresh: "r", expires: 1 };
  const rpc = startRpc({
    args: ["--model", "mine/first"],
    agentFiles: {
      "auth.json": JSON.stringify({ mine: login }),
      "extensions/p.ts": `${helpers}
        const oauth = { name: "Mine", login: async () => ({}), refresh: async (c: any) => ({ ...c, access: "new", expires: Date.now() + 1e6 }), toAuth: async (c: any) => ({ apiKey: c.access + "-key" }) };
        export default (pi: any) => pi.registerProvider(createProvider({ id: "mine", auth: { oauth: lazyOAuth({ name: "Mine", load: async () => oauth as any }) },
          models: [model("first")], api: { "mine-api": { streamSimple: say((_, options) => options.apiKey) } } } as any));`,
    },
  });
  expect(answers(await rpc.prompt("hi"))).toEqual(["new-key"]);
});

test("a list of models that a provider has published is there at the next start, before anybody uses the network", async () => {
  const source = `${helpers}
    export default (pi: any) => {
      const asked: unknown[] = [];
      pi.registerProvider("mine", { baseUrl: "http://x", apiKey: "k", api: "openai-completions", models: [model("first")],
        async refreshModels({ stored, store, publish, allowNetwork, credential, force, signal }: any) {
          asked.push([allowNetwork, credential?.key, force, signal.aborted].join());
          if (!allowNetwork) return stored?.models ?? [model("first")];
          if ((await store.read())?.models.length > 2) throw new Error("the server is busy");
          const models = [...(stored?.models ?? [model("first")]), model("more")];
          await publish({ persist: { models, checkedAt: 1 } });
          return models;
        } });
      list(pi);
      pi.registerCommand("asked", { handler: (_: string, ctx: any) => ctx.ui.notify(asked.splice(0).join(" ")) });
      pi.registerCommand("refresh", { handler: async (args: string, ctx: any) => {
        const { aborted, errors } = await ctx.modelRegistry.refresh(JSON.parse(args));
        ctx.ui.notify(aborted + JSON.stringify([...errors].map(([name, error]: any) => [name, error.message])));
      } });
    };`;
  const first = startRpc({ script: { responses: ["fine"], repeat: true }, agentFiles: { "extensions/p.ts": source } });
  await expect.poll(() => command(first, "/list")).toEqual(["first,more"]);
  expect(await command(first, "/asked")).toEqual(["false,,false,false true,k,false,false"]);
  // What is kept is not asked for by each session.
  await first.ask("new_session");
  expect(await command(first, "/list")).toEqual(["first,more"]);
  expect(await command(first, "/asked")).toEqual(["false,,false,false"]);

  const second = startRpc({ home: first.places.home, args: ["--model", "mine/more"], env: { PI_OFFLINE: "1" } });
  expect((await second.ask("get_state")).model.id).toBe("more");
  expect(await command(second, "/refresh {}")).toEqual(["false[]"]);
  expect(await command(second, `/refresh {"allowNetwork":true,"force":true}`)).toEqual(["false[]"]);
  expect(await command(second, "/asked")).toEqual(["false,,false,false false,,false,false false,,true,false true,k,true,false"]);
  expect(await command(second, `/refresh {"allowNetwork":true}`)).toEqual([`false[["mine","the server is busy"]]`]);
  expect(await command(second, "/list")).toEqual(["first,more,more"]);
  expect([...errors(first), ...errors(second)]).toEqual([]);
});

test("a provider whose server does not answer with models keeps those it has, and counts as no fault", async () => {
  const rpc = startRpc({
    script: { responses: ["fine"], repeat: true },
    agentFiles: {
      "extensions/p.ts": `${helpers}
        const broken = async ({ allowNetwork }: any) => { if (allowNetwork) throw new Error("nobody there"); return [model("first")]; };
        export default (pi: any) => {
          pi.registerProvider("mine", { baseUrl: "http://x", apiKey: "k", api: "openai-completions", models: [model("first")], refreshModels: (context: any) => broken(context) });
          list(pi);
        };`,
    },
  });
  for (let session = 0; session < 6; session++) await rpc.ask("new_session");
  await expect.poll(() => rpc.stderr).toContain('the models of "mine" could not be refreshed: nobody there');
  expect(await command(rpc, "/list")).toEqual(["first"]);
  expect(errors(rpc)).toEqual([]);
});

test("providers that are here can be taken to make others of them", async () => {
  const rpc = startRpc({
    script: { responses: ["fine"], repeat: true },
    agentFiles: {
      "extensions/p.ts": `import { builtinProviders, getBuiltinModels } from "@earendil-works/pi-ai/providers/all";
        export default (pi: any) => pi.on("session_start", (_: any, ctx: any) => {
          const anthropic = builtinProviders().find(({ id }: any) => id === "anthropic");
          ctx.ui.notify([anthropic.name, anthropic.getModels().length === getBuiltinModels("anthropic").length, anthropic.auth.apiKey.name !== "", typeof anthropic.streamSimple].join());
        });`,
    },
  });
  await notice(rpc, "Anthropic,true,true,function");
});
