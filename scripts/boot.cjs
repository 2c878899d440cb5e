#!/usr/bin/env node
// Starts the program with V8's code cache. The cache is private, versioned, written by rename, and never able to break a start.
"use strict";
const fs = require("node:fs");
const path = require("node:path");
const vm = require("node:vm");

// The flag that lets cached code import modules is called experimental by Node; nobody here can do anything about that.
const { emitWarning } = process;
process.emitWarning = (warning, ...rest) => {
  if (!String(warning).includes("USE_MAIN_CONTEXT_DEFAULT_LOADER")) emitWarning.call(process, warning, ...rest);
};

const build = "__BUILD__";
const modules = new Map();
/** functions of the modules that come in the core's file */
const packed = new Map();
const unsaved = [];

function privateCacheDir() {
  if (process.platform === "win32" || process.env.PI_NO_CODE_CACHE === "1") return undefined;
  const base = process.env.XDG_CACHE_HOME || (process.env.HOME && path.join(process.env.HOME, ".cache"));
  if (!base || !path.isAbsolute(base)) return undefined;
  return path.join(base, "pi-kernel", `${build}-${process.version}-${process.arch}`);
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
const nativeImport = (specifier) => import(specifier);

/** Evaluates the script in a file, with what V8 made of it last time. */
function evaluate(file) {
  // The bundler writes ASCII only; latin1 is the cheapest way to read it.
  const source = fs.readFileSync(file, "latin1");
  const cacheFile = cacheDir && path.join(cacheDir, `${path.basename(file)}.bin`);
  let cachedData;
  if (trusted) {
    try {
      cachedData = fs.readFileSync(cacheFile);
    } catch {}
  }
  const script = new vm.Script(source, { filename: file, cachedData, importModuleDynamically: vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER });
  if (cacheFile && (!cachedData || script.cachedDataRejected)) unsaved.push([cacheFile, script]);
  return script.runInThisContext();
}

function load(file) {
  const known = modules.get(file);
  if (known) return known.exports;
  const module = { exports: {} };
  modules.set(file, module);
  const directory = path.dirname(file);
  const localRequire = (specifier) => (specifier.startsWith(".") && specifier.endsWith(".cjs") ? load(path.join(directory, specifier)) : require(specifier));
  localRequire.resolve = require.resolve;
  const run = packed.get(file) ?? evaluate(file);
  run(module.exports, localRequire, module, file, directory, nativeImport, lazy);
  return module.exports;
}

function saveCaches() {
  if (unsaved.length === 0) return;
  try {
    fs.mkdirSync(cacheDir, { recursive: true, mode: 0o700 });
    if (!isOurs(cacheDir)) return;
    for (const [file, script] of unsaved) {
      const temporary = `${file}.${process.pid}`;
      fs.writeFileSync(temporary, script.createCachedData(), { mode: 0o600 });
      fs.renameSync(temporary, file);
    }
  } catch {}
}

if (cacheDir) process.once("exit", saveCaches);
const core = path.join(__dirname, "core.cjs");
for (const [name, run] of Object.entries(evaluate(core))) packed.set(path.join(__dirname, name), run);
load(core);
