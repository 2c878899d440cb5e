import { AsyncSeriesBailHook, AsyncSeriesHook, SyncWaterfallHook } from "tapable";
import { Type } from "typebox";
import { describe, expect, it } from "vitest";
import { command, definePlugin, type Fault, flatten, Kernel, type Plugin, swap } from "../../core/index.ts";

const plugin = (name: string, apply: Plugin["apply"] = () => {}): Plugin => definePlugin({ name, apply });
const template = (name: string, body = "") => ({ name, description: "", body });

describe("plugins", () => {
  it("lists may nest and hold false", () => {
    expect(flatten([plugin("a"), false, [plugin("b"), [undefined, plugin("c")]]]).map(({ name }) => name)).toEqual(["a", "b", "c"]);
  });

  it("two of one name are refused by name", async () => {
    const kernel = new Kernel();
    await kernel.use(plugin("twin"));
    await expect(kernel.use(plugin("twin"))).rejects.toThrow('Two plugins are called "twin"');
  });

  it("one that throws in apply leaves nothing behind", async () => {
    const kernel = new Kernel();
    const broken = plugin("broken", (own) => {
      own.hooks.start.tap("x", () => {});
      own.registry("promptTemplates").add(template("t"));
      throw new Error("no");
    });
    await expect(kernel.use(broken)).rejects.toThrow('Plugin "broken" could not be loaded: no');
    expect(kernel.leftovers()).toEqual([]);
  });

  it("a missing service is named with who wanted it", async () => {
    const kernel = new Kernel();
    await expect(kernel.use({ name: "needy", requires: ["transcript"], apply() {} })).rejects.toThrow('Plugin "needy" needs the service "transcript"');
  });

  it("one whose service others need is not removed", async () => {
    const kernel = new Kernel();
    await kernel.use(plugin("owner", (own) => void own.provide("transcript", { sessionId: () => "", messages: () => [], append() {} })));
    await kernel.use({ name: "needy", requires: ["transcript"], apply() {} });
    await expect(kernel.remove("owner")).rejects.toThrow('needy need its service "transcript"');
    await kernel.remove("needy");
    await kernel.remove("owner");
    expect(kernel.leftovers()).toEqual([]);
  });

  it("undo runs in reverse, and one failing undo does not stop the rest", async () => {
    const kernel = new Kernel();
    const order: string[] = [];
    const faults: Fault[] = [];
    await kernel.use(plugin("watch", (own) => void own.hooks.fault.tap("w", (fault) => void faults.push(fault))));
    await kernel.use(
      plugin("p", (own) => {
        own.defer(() => order.push("first"));
        own.defer(() => {
          throw new Error("stuck");
        });
        return () => order.push("returned");
      }),
    );
    await kernel.remove("p");
    expect(order).toEqual(["returned", "first"]);
    expect(faults).toMatchObject([{ from: "p", during: "unload" }]);
  });

  it("registering after unloading throws, naming the plugin", async () => {
    const kernel = new Kernel();
    let late: (() => void) | undefined;
    await kernel.use(
      plugin("ghost", (own) => {
        late = () => own.registry("promptTemplates").add(template("t"));
      }),
    );
    await kernel.remove("ghost");
    expect(() => late?.()).toThrow("ghost registered something after it was unloaded");
  });
});

describe("registries", () => {
  it("a later plugin shadows an earlier one, and unloading it brings the earlier back", async () => {
    const kernel = new Kernel();
    await kernel.use(plugin("a", (own) => void own.registry("promptTemplates").add(template("t", "from a"))));
    await kernel.use(plugin("b", (own) => void own.registry("promptTemplates").add(template("t", "from b"))));
    expect(kernel.registry("promptTemplates").get("t")?.body).toBe("from b");
    expect(kernel.registry("promptTemplates").ownerOf("t")).toBe("b");
    await kernel.remove("b");
    expect(kernel.registry("promptTemplates").get("t")?.body).toBe("from a");
  });

  it("precedence decides who wins, order where it stands", async () => {
    const kernel = new Kernel();
    const adds = (name: string) => plugin(name, (own) => void own.registry("promptTemplates").add(template("t", name)));
    await kernel.use(adds("built-in"));
    await kernel.use(adds("first"), { order: 100, precedence: 200 });
    await kernel.use(adds("second"), { order: 101, precedence: 199 });
    expect(kernel.registry("promptTemplates").get("t")?.body).toBe("first");
  });

  it("a filter is one more tap", async () => {
    const kernel = new Kernel();
    await kernel.use(plugin("filter", (own) => void own.registry("promptTemplates").filter((draft) => draft.delete("b"))));
    await kernel.use(
      plugin("two", (own) => {
        own.registry("promptTemplates").add(template("a"));
        own.registry("promptTemplates").add(template("b"));
      }),
    );
    const names = kernel
      .registry("promptTemplates")
      .all()
      .map(({ name }) => name);
    expect(names).toEqual(["a"]);
  });
});

describe("staging", () => {
  it("a staged plugin is not seen until it is swapped in, in the old one's place", async () => {
    const kernel = new Kernel();
    const order: string[] = [];
    const observer = (name: string, label: string) => plugin(name, (own) => void own.hooks.start.tap("x", () => void order.push(label)));
    const old = await kernel.use(observer("one", "old"), { order: 10 });
    await kernel.use(observer("two", "two"), { order: 20 });
    const fresh = await kernel.use(observer("one", "new"), { order: 10, staged: true });
    await kernel.hooks.start.promise();
    swap(old.scope, fresh.scope);
    await kernel.hooks.start.promise();
    expect(order).toEqual(["old", "two", "new", "two"]);
  });

  it("a dispatch in flight keeps its snapshot", async () => {
    const kernel = new Kernel();
    const order: string[] = [];
    const { scope } = await kernel.use(plugin("later", (own) => void own.hooks.start.tap({ stage: 10 }, () => void order.push("later"))));
    const first = plugin("first", (own) => {
      own.hooks.start.tap("x", async () => {
        scope.withdraw();
        await Promise.resolve();
      });
    });
    await kernel.use(first);
    await kernel.hooks.start.promise();
    expect(order).toEqual(["later"]);
    await kernel.hooks.start.promise();
    expect(order).toEqual(["later"]);
  });
});

describe("hooks", () => {
  it("one observer's throw is a fault and does not stop the others", async () => {
    const kernel = new Kernel();
    const seen: string[] = [];
    const faults: Fault[] = [];
    await kernel.use(plugin("watch", (own) => void own.hooks.fault.tap("w", (fault) => void faults.push(fault))));
    await kernel.use(
      plugin("thrower", (own) => {
        own.hooks.event.tap("x", () => {
          throw new Error("sync");
        });
        own.hooks.event.tap("y", () => Promise.reject(new Error("async")));
      }),
    );
    await kernel.use(plugin("fine", (own) => void own.hooks.event.tap("x", (event) => void seen.push(event.type))));
    kernel.emit({ type: "agent_start" });
    await kernel.bus.flush();
    expect(seen).toEqual(["agent_start"]);
    expect(faults.map(({ from, error }) => `${from}: ${(error as Error).message}`)).toEqual(["thrower: sync", "thrower: async"]);
  });

  it("a feature's own hooks get the same care", async () => {
    const kernel = new Kernel();
    const hooks = { asked: new AsyncSeriesBailHook<[string], string>(["question"]) };
    await kernel.use(plugin("a", (own) => void own.own(hooks).asked.tap("a", (question) => (question === "a?" ? "a!" : undefined))));
    await kernel.use(plugin("b", (own) => void own.own(hooks).asked.tap("b", async () => "b!")));
    expect(await hooks.asked.promise("a?")).toBe("a!");
    expect(await hooks.asked.promise("?")).toBe("b!");
    await kernel.remove("b");
    expect(await hooks.asked.promise("?")).toBeUndefined();
  });

  it("whoever has a hook may tap it himself, before and behind the plugins, at any time", async () => {
    const kernel = new Kernel();
    const order: string[] = [];
    const hooks = { changed: new SyncWaterfallHook<[number]>(["number"]), asked: new AsyncSeriesHook<[string]>(["question"]) };
    await kernel.use(
      plugin("a", (own) => {
        own.own(hooks).changed.tap("a", (number) => number * 10);
        own.own(hooks).asked.tap("a", (question) => void order.push(`a ${question}`));
      }),
    );
    expect(hooks.changed.call(1)).toBe(10);
    await hooks.asked.promise("one");
    hooks.changed.tap({ name: "host", stage: -1 }, (number) => number + 1);
    hooks.changed.tap({ name: "host", stage: 1 }, (number) => number + 5);
    hooks.asked.tap({ name: "host", stage: -1 }, (question) => void order.push(`host ${question}`));
    expect(hooks.changed.call(1)).toBe(25);
    await hooks.asked.promise("two");
    expect(order).toEqual(["a one", "host two", "a two"]);
    await kernel.remove("a");
    expect(hooks.changed.call(1)).toBe(7);
  });
});

describe("the bus", () => {
  it("delivers in order, also what observers emit and what waits for a slow one", async () => {
    const kernel = new Kernel();
    const seen: string[] = [];
    const slow = plugin("slow", (own) => {
      own.hooks.event.tap("x", (event) => {
        if (event.type !== "agent_start") return undefined;
        own.emit({ type: "turn_start" });
        return new Promise<void>((resolve) => setTimeout(resolve, 10));
      });
    });
    await kernel.use(slow);
    await kernel.use(plugin("wire", (own) => void own.hooks.event.tap({ stage: 100 }, (event) => void seen.push(event.type))));
    kernel.emit({ type: "agent_start" });
    kernel.bus.enqueue(() => seen.push("reply"));
    kernel.emit({ type: "agent_settled" });
    await kernel.bus.flush();
    expect(seen).toEqual(["agent_start", "turn_start", "reply", "agent_settled"]);
  });

  it("a reply waits for what was emitted since its command came, and for nothing else", async () => {
    const kernel = new Kernel();
    const seen: string[] = [];
    let answer = () => {};
    const asking = new Promise<void>((resolve) => {
      answer = resolve;
    });
    await kernel.use(plugin("asking", (own) => void own.hooks.event.tap("x", () => asking)));
    await kernel.use(plugin("wire", (own) => void own.hooks.event.tap({ stage: 100 }, (event) => void seen.push(event.type))));
    kernel.emit({ type: "agent_start" });
    const since = kernel.bus.position();
    kernel.bus.enqueue(() => seen.push("reply"), since);
    expect(seen).toEqual(["reply"]);
    kernel.emit({ type: "turn_start" });
    kernel.bus.enqueue(() => seen.push("reply to its cause"), since);
    answer();
    await kernel.bus.flush();
    expect(seen).toEqual(["reply", "agent_start", "turn_start", "reply to its cause"]);
  });

  it("delivers inside emit while everybody is synchronous", async () => {
    const kernel = new Kernel();
    let seen = 0;
    await kernel.use(plugin("wire", (own) => void own.hooks.event.tap("x", () => void seen++)));
    kernel.emit({ type: "agent_start" });
    expect(seen).toBe(1);
    expect(kernel.bus.flush()).toBeUndefined();
  });

  it("makes sources wait while a gate is closed", async () => {
    const kernel = new Kernel();
    let open: () => void = () => {};
    let closed: Promise<void> | undefined = new Promise((resolve) => {
      open = () => {
        closed = undefined;
        resolve();
      };
    });
    await kernel.use(plugin("wire", (own) => void own.gate(() => closed)));
    const ready = kernel.bus.ready();
    expect(ready).toBeInstanceOf(Promise);
    open();
    await ready;
    expect(kernel.bus.ready()).toBeUndefined();
  });
});

describe("commands", () => {
  const greet = command({
    name: "greet",
    params: () =>
      Type.Object({
        name: Type.String({ minLength: 1 }),
        mode: Type.Optional(Type.Union([Type.Literal("loud"), Type.Literal("soft")])),
        tags: Type.Optional(Type.Array(Type.Object({ id: Type.String() }))),
      }),
    run: ({ name }) => ({ text: `Hello ${name}` }),
  });

  it("answer data for good parameters, null counting as absent", async () => {
    const kernel = new Kernel();
    await kernel.use(greet);
    expect((await kernel.execute("greet", { name: "you", mode: null })).data).toEqual({ text: "Hello you" });
  });

  it.each([
    [{}, 'Missing required parameter "name"'],
    [{ name: "" }, 'Invalid parameter "name": expected a non-empty string'],
    [{ name: "x", mode: "shrill" }, 'Invalid parameter "mode": expected one of loud, soft'],
    [{ name: "x", tags: "t" }, 'Invalid parameter "tags": expected an array'],
    [{ name: "x", tags: [{ id: 5 }] }, 'Invalid parameter "tags[0].id": expected a string'],
    [{ name: "x", tags: [{}] }, 'Missing required parameter "tags[0].id"'],
  ])("refuse %j with one sentence", async (params, message) => {
    const kernel = new Kernel();
    await kernel.use(greet);
    await expect(kernel.execute("greet", params)).rejects.toThrow(message);
  });

  it("unknown ones are named", async () => {
    await expect(new Kernel().execute("nope", {})).rejects.toThrow("Unknown command: nope");
  });
});
