#!/usr/bin/env node
// Starts the program with V8's code cache. The cache is private, versioned, written by rename, and never able to break a start.
"use strict";
const fs = require("node:fs");
const vm = require("node:vm");

// The flag that lets cached code import modules is called experimental by Node; nobody here can do anything about that.
const { emitWarning } = process;
process.emitWarning = (warning, ...rest) => {
  if (!String(warning).includes("USE_MAIN_CONTEXT_DEFAULT_LOADER")) emitWarning.call(process, warning, ...rest);
};

const build = "__BUILD__";
const givenFlags = [...process.execArgv, process.env.NODE_OPTIONS ?? ""].join(" ").trim();
const modules = new Map();
/** functions of the modules that come in the core's file */
const packed = new Map();
const unsaved = [];

function privateCacheDir() {
  if (process.platform === "win32" || process.env.PI_NO_CODE_CACHE === "1") return undefined;
  const base = process.env.XDG_CACHE_HOME || (process.env.HOME && `${process.env.HOME}/.cache`);
  if (!base?.startsWith("/")) return undefined;
  return `${base}/pi-kernel/${build}-${process.version}-${process.arch}${otherFlags()}`;
}

/** V8 takes no cache that was made with other flags: without names of their own, two ways to start would write each other's over and over. */
function otherFlags() {
  let hash = 0;
  for (let index = 0; index < givenFlags.length; index++) hash = (hash * 31 + givenFlags.charCodeAt(index)) | 0;
  return givenFlags === "" ? "" : `-${(hash >>> 0).toString(36)}`;
}

/** Somebody else's directory could hold somebody else's code. */
function isOurs(directory) {
  try {
    const { uid, mode } = fs.statSync(directory);
    return uid === process.getuid() && (mode & 0o022) === 0;
  } catch {
    return false;
  }
}

const cacheDir = privateCacheDir();
const trusted = cacheDir !== undefined && isOurs(cacheDir);

/** A module that is loaded when `it` is asked for. */
class Lazy {
  #load;
  #module;
  constructor(load) {
    this.#load = load;
  }
  get it() {
    this.#module ??= this.#load();
    return this.#module;
  }
}
const lazy = (load) => new Lazy(load);

/**
 * What suits an agent that has started. The space for young objects stays as it is: it would double with every burst, up to 32 or 128 MB,
 * and never shrink. And V8 11, which has no compiler between its baseline and its optimizing one, calls that when a function has worked as
 * long as compiling it takes. By itself it does so after a millisecond, for ten of another core's, and few functions of an agent earn that
 * back before it ends.
 */
const settings = [];
if (!/semi[-_]space/.test(givenFlags)) settings.push({ flag: "--semi-space-growth-factor", usual: 2, ours: 1 });
if (process.versions.v8.startsWith("11.3.") && !/interrupt[-_]budget|early[-_]opt/.test(givenFlags)) {
  settings.push({ flag: "--interrupt-budget", usual: 67584, ours: 500_000 }, { flag: "--max-bytecode-size-for-early-opt", usual: 81, ours: 0 });
}
/** The first answer is out by then. */
const SETTLE_AFTER_MS = 50;
let v8;

function set(which) {
  v8.setFlagsFromString(settings.map((setting) => `${setting.flag}=${setting[which]}`).join(" "));
}

function settle() {
  v8 = require("node:v8");
  set("ours");
}

/** V8 takes a cache only with the flags it was made with. */
function withUsualFlags(work) {
  if (!v8) return work();
  set("usual");
  try {
    return work();
  } finally {
    set("ours");
  }
}

const nativeImport = (specifier) => import(specifier);

/** Evaluates the script in a file of the build, with what V8 made of it last time. */
function evaluate(name) {
  const file = `${__dirname}/${name}`;
  // The bundler writes ASCII only; latin1 is the cheapest way to read it.
  const source = fs.readFileSync(file, "latin1");
  const cacheFile = cacheDir && `${cacheDir}/${name.slice(name.lastIndexOf("/") + 1)}.bin`;
  let cachedData;
  if (trusted) {
    try {
      cachedData = fs.readFileSync(cacheFile);
    } catch {}
  }
  const options = { filename: file, cachedData, importModuleDynamically: vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER };
  const script = withUsualFlags(() => new vm.Script(source, options));
  if (cacheFile && (!cachedData || script.cachedDataRejected)) unsaved.push([cacheFile, script]);
  return script.runInThisContext();
}

/** Our own modules are called by their place in the build. */
function ownRequire(name) {
  return name.endsWith(".cjs") ? load(name) : require(name);
}
ownRequire.resolve = require.resolve;

function load(name) {
  const known = modules.get(name);
  if (known) return known.exports;
  const module = { exports: {} };
  modules.set(name, module);
  const run = packed.get(name) ?? evaluate(name);
  const file = `${__dirname}/${name}`;
  run(module.exports, ownRequire, module, file, file.slice(0, file.lastIndexOf("/")), nativeImport, lazy);
  return module.exports;
}

function saveCaches() {
  if (unsaved.length === 0) return;
  try {
    fs.mkdirSync(cacheDir, { recursive: true, mode: 0o700 });
    if (!isOurs(cacheDir)) return;
    for (const [file, script] of unsaved) {
      const temporary = `${file}.${process.pid}`;
      const data = withUsualFlags(() => script.createCachedData());
      fs.writeFileSync(temporary, data, { mode: 0o600 });
      fs.renameSync(temporary, file);
    }
  } catch {}
}

if (cacheDir) process.once("exit", saveCaches);
if (settings.length > 0) setTimeout(settle, SETTLE_AFTER_MS).unref();
for (const [name, run] of Object.entries(evaluate("core.cjs"))) packed.set(name, run);
load("core.cjs");
