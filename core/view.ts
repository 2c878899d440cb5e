/** What a plugin sees of the kernel. Members are made when they are first asked for: most plugins use three of them. */
import type { Options } from "./contracts.ts";
import type { Kernel } from "./kernel.ts";
import type { PluginKernel } from "./plugin.ts";
import { acceptPrompt, acceptRun } from "./prompt.ts";
import type { Contributions } from "./registry.ts";
import type { Scope } from "./scope.ts";
import { own } from "./taps.ts";
import { streamModel } from "./turn.ts";

export function viewOf(kernel: Kernel, scope: Scope, registryOf: (kind: string) => Contributions<any>): PluginKernel {
  return new View(kernel, scope, registryOf) as unknown as PluginKernel;
}

type Members = { [K in Exclude<keyof PluginKernel, "options">]: (view: View) => PluginKernel[K] };

class View {
  readonly kernel: Kernel;
  readonly scope: Scope;
  readonly registryOf: (kind: string) => Contributions<any>;

  constructor(kernel: Kernel, scope: Scope, registryOf: (kind: string) => Contributions<any>) {
    this.kernel = kernel;
    this.scope = scope;
    this.registryOf = registryOf;
  }

  get options(): Options {
    return this.kernel.options;
  }
}

const members: Members = {
  name: ({ scope }) => scope.name,
  hooks: ({ kernel, scope }) => own(kernel.hooks, scope),
  queue: ({ kernel }) => kernel.queue,
  run: ({ kernel }) => kernel.run,
  registry: ({ registryOf }) => registryOf,
  provide:
    ({ registryOf }) =>
    (name, service) =>
      registryOf("services").add({ name, service }),
  service:
    ({ kernel }) =>
    (name) =>
      kernel.service(name),
  tryService: ({ kernel }) => kernel.tryService,
  own:
    ({ scope }) =>
    (hooks) =>
      own(hooks, scope),
  defer:
    ({ scope }) =>
    (undo) =>
      scope.defer(undo),
  prompt:
    ({ kernel }) =>
    (input) =>
      acceptPrompt(kernel, input),
  startRun:
    ({ kernel }) =>
    (run) =>
      acceptRun(kernel, run),
  append:
    ({ kernel }) =>
    (message) =>
      kernel.add(message),
  systemPrompt:
    ({ kernel }) =>
    (run) =>
      kernel.systemPrompt(run),
  stream:
    ({ kernel }) =>
    (request) =>
      streamModel(kernel, request),
  execute:
    ({ kernel }) =>
    (command, params, call) =>
      kernel.execute(command, params, call),
  invoke: ({ kernel }) => kernel.invoke,
  describe: ({ kernel }) => kernel.describe,
  emit:
    ({ kernel }) =>
    (event) =>
      kernel.emit(event),
  enqueue: ({ kernel }) => kernel.bus.enqueue,
  position: ({ kernel }) => kernel.bus.position,
  flush:
    ({ kernel }) =>
    () =>
      kernel.bus.flush(),
  ready:
    ({ kernel }) =>
    () =>
      kernel.bus.ready(),
  gate:
    ({ kernel, scope }) =>
    (gate) =>
      scope.defer(kernel.bus.addGate(gate)) as () => void,
  fault:
    ({ kernel, scope }) =>
    (fault) =>
      kernel.fault({ from: scope.name, ...fault }),
  use:
    ({ kernel }) =>
    (plugin, options) =>
      kernel.use(plugin, options),
  remove:
    ({ kernel }) =>
    (name) =>
      kernel.remove(name),
  stop:
    ({ kernel }) =>
    (reason) =>
      kernel.stop(reason),
  plugins:
    ({ kernel }) =>
    () =>
      kernel.plugins(),
};

for (const [name, make] of Object.entries(members)) {
  Object.defineProperty(View.prototype, name, {
    get(this: View) {
      const value = make(this);
      Object.defineProperty(this, name, { value });
      return value;
    },
  });
}
