#!/usr/bin/env node
// Starts a program that the build made of scripts, with V8's code cache. The cache is private, versioned, written by rename, and never able to
// break a start. Words in __CAPITALS__ are filled in by the build.
"use strict";
const fs = require("node:fs");
const vm = require("node:vm");

// The flag that lets cached code import modules is called experimental by Node; nobody here can do anything about that.
const { emitWarning } = process;
process.emitWarning = (warning, ...rest) => {
  if (!String(warning).includes("USE_MAIN_CONTEXT_DEFAULT_LOADER")) emitWarning.call(process, warning, ...rest);
};

/** Scripts that stand in the comment at the end of this very file: where they begin, and how many bytes they have. */
const inside = new Map(Object.entries(__INSIDE__));
const prefix = "__PREFIX__";
const givenFlags = [...process.execArgv, process.env.NODE_OPTIONS ?? ""].join(" ").trim();
const modules = new Map();
/** functions of the modules that come in the core's file */
const packed = new Map();
const unsaved = [];

function privateCacheDir() {
  if (process.platform === "win32" || process.env[`${prefix}_NO_CODE_CACHE`] === "1") return undefined;
  const base = process.env.XDG_CACHE_HOME || (process.env.HOME && `${process.env.HOME}/.cache`);
  if (!base?.startsWith("/")) return undefined;
  return `${base}/__NAME__/__BUILD__-${process.version}-${process.arch}${otherFlags()}`;
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
/** Whether the build may have caches: V8 takes none that was made with other flags. */
const isBuilt = inside.size === 0 && givenFlags === "" && process.env[`${prefix}_NO_CODE_CACHE`] !== "1";

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
 * and never shrink. And V8 11, which has no compiler between its baseline and its optimizing one, calls that later than it would by itself,
 * after a millisecond of work, for ten of another core's: few functions earn that back in the first second, and who works for longer has
 * more of them.
 */
const settings = [];
if (!/semi[-_]space/.test(givenFlags)) settings.push({ flag: "--semi-space-growth-factor", usual: 2, first: 1, later: 1 });
if (process.versions.v8.startsWith("11.3.") && !/interrupt[-_]budget|early[-_]opt/.test(givenFlags)) {
  settings.push({ flag: "--interrupt-budget", usual: 67584, first: 500_000, later: 200_000 });
  settings.push({ flag: "--max-bytecode-size-for-early-opt", usual: 81, first: 0, later: 0 });
}
/** When they are set: at first once the first answer is out. */
const SET_AFTER_MS = { first: 50, later: 1000 };
let inForce = "usual";

function set(which) {
  inForce = which;
  require("node:v8").setFlagsFromString(settings.map((setting) => `${setting.flag}=${setting[which]}`).join(" "));
}

/** V8 takes a cache only with the flags it was made with. */
function withUsualFlags(work) {
  const before = inForce;
  if (before === "usual") return work();
  set("usual");
  try {
    return work();
  } finally {
    set(before);
  }
}

const nativeImport = (specifier) => import(specifier);

/** What a start reads fits in here. Memory that nothing was read into costs nothing. */
const ENOUGH = 1024 * 1024;

/** Reads into the same memory again and again: fresh memory costs more than reading does. */
function readInto(memory, file, from, length) {
  const descriptor = fs.openSync(file, "r");
  try {
    const wanted = length ?? fs.fstatSync(descriptor).size;
    const bytes = wanted > memory.length ? Buffer.allocUnsafeSlow(wanted) : memory.subarray(0, wanted);
    let read = 0;
    for (let count = -1; read < wanted && count !== 0; read += count) count = fs.readSync(descriptor, bytes, read, wanted - read, from + read);
    return bytes.subarray(0, read);
  } finally {
    fs.closeSync(descriptor);
  }
}

/** The text of a script, from a file of the build or from this one. Builds are ASCII only; latin1 is the cheapest way to read it. */
function sourceOf(name, memory) {
  const place = inside.get(name);
  if (!place) return readInto(memory, `${__dirname}/${name}`, 0).latin1Slice();
  const bytes = readInto(memory, __filename, ...place);
  // In a comment the slash after a star would end it, so another byte stands for it.
  for (let at = bytes.indexOf(1); at >= 0; at = bytes.indexOf(1, at + 1)) bytes[at] = 47;
  return bytes.latin1Slice();
}

/**
 * V8 does not look whether a cache is whole, and a damaged one ends the process. So a cache ends with the time that its file was given when
 * it was written: whoever touches the file changes that.
 */
const SEAL = 10;

function privateCache(memory, name) {
  const file = `${cacheDir}/${name}`;
  const found = fs.statSync(file, { throwIfNoEntry: false });
  return found && unsealed(readInto(memory, file, 0), () => String(found.mtimeMs / 1000));
}

/**
 * For who has none of his own yet, as in a container that is new for each task: what the build has seen of a start, on the Node that made it.
 * It is as whole as the scripts beside it; only its length is looked at.
 */
function builtCache(memory, name) {
  const file = `${__dirname}/cache/${process.version}-${process.platform}-${process.arch}/${name}`;
  return unsealed(readInto(memory, file, 0), (length) => String(length).padStart(SEAL, "0"));
}

function unsealed(bytes, seal) {
  const end = bytes.length - SEAL;
  return end > 0 && bytes.latin1Slice(end) === seal(end) ? bytes.subarray(0, end) : undefined;
}

function cacheOf(name, memory) {
  for (const [isThere, read] of [
    [trusted, privateCache],
    [isBuilt, builtCache],
  ]) {
    try {
      const bytes = isThere && read(memory, name);
      if (bytes) return { bytes, isPrivate: read === privateCache };
    } catch {}
  }
  return { bytes: undefined, isPrivate: false };
}

/** Some time long ago, in seconds that every file system keeps. */
const someTime = () => 1e9 + 2 * Math.floor(Math.random() * 1e8);

/** Evaluates a script of the build, with what V8 made of it last time. */
function evaluate(name) {
  const memory = Buffer.allocUnsafeSlow(ENOUGH);
  const source = sourceOf(name, memory);
  const cacheName = `${name.slice(name.lastIndexOf("/") + 1)}.bin`;
  const { bytes: cachedData, isPrivate } = cacheOf(cacheName, memory);
  const options = { filename: `${__dirname}/${name}`, cachedData, importModuleDynamically: vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER };
  const script = withUsualFlags(() => new vm.Script(source, options));
  // What the build has seen is not all that this user does.
  if (cacheDir && (!isPrivate || script.cachedDataRejected)) unsaved.push([`${cacheDir}/${cacheName}`, script]);
  return script.runInThisContext();
}

/** Our own modules are called by their place in the build. */
function ownRequire(name) {
  return packed.has(name) || inside.has(name) || name.startsWith("chunks/") ? load(name) : require(name);
}
ownRequire.resolve = require.resolve;

function load(name) {
  const known = modules.get(name);
  if (known) return known.exports;
  const module = { exports: {} };
  modules.set(name, module);
  const run = packed.get(name) ?? evaluate(name);
  // For whoever looks around: what comes in one file lies where that file lies.
  const file = inside.size > 0 ? __filename : `${__dirname}/${name}`;
  run(module.exports, ownRequire, module, file, file.slice(0, file.lastIndexOf("/")), nativeImport, lazy);
  return module.exports;
}

/** Node's own `recursive` tries for ever where nothing can be made, as in /proc. */
function makeDirectory(directory) {
  if (fs.existsSync(directory)) return;
  const parent = directory.slice(0, directory.lastIndexOf("/"));
  if (parent !== "") makeDirectory(parent);
  try {
    fs.mkdirSync(directory, { mode: 0o700 });
  } catch (error) {
    if (error.code !== "EEXIST") throw error;
  }
}

/** Whoever still needs one makes it again. */
const KEPT_MS = 60 * 24 * 3600 * 1000;

/** Caches of builds and of Nodes that are gone. Other programs may have theirs beside them. */
function dropOldCaches() {
  const all = cacheDir.slice(0, cacheDir.lastIndexOf("/"));
  for (const name of fs.readdirSync(all)) {
    if (!/-[\da-f]{16}-v\d+\.\d+\.\d+-/.test(name)) continue;
    const directory = `${all}/${name}`;
    if (fs.statSync(directory).mtimeMs < Date.now() - KEPT_MS) fs.rmSync(directory, { recursive: true, force: true });
  }
}

function saveCaches() {
  if (unsaved.length === 0) return;
  try {
    makeDirectory(cacheDir);
    if (!isOurs(cacheDir)) return;
    for (const [file, script] of unsaved) save(file, script);
    dropOldCaches();
  } catch {}
}

function save(file, script) {
  const temporary = `${file}.${process.pid}`;
  const data = withUsualFlags(() => script.createCachedData());
  const time = someTime();
  try {
    const descriptor = fs.openSync(temporary, "w", 0o600);
    try {
      fs.writeFileSync(descriptor, Buffer.concat([data, Buffer.from(String(time))]));
      fs.futimesSync(descriptor, time, time);
      // The name must not be there before what it names is, should the power go.
      fs.fsyncSync(descriptor);
    } finally {
      fs.closeSync(descriptor);
    }
    fs.renameSync(temporary, file);
  } catch (error) {
    // What a full disk took of it.
    fs.rmSync(temporary, { force: true });
    throw error;
  }
}

if (cacheDir) process.once("exit", saveCaches);
if (settings.length > 0) for (const [which, ms] of Object.entries(SET_AFTER_MS)) setTimeout(set, ms, which).unref();
for (const [name, run] of Object.entries(evaluate("core.cjs"))) packed.set(name, run);
load("core.cjs");
