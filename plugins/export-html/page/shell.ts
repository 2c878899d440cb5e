/** The page around the data: what stands before and behind it in the file. */
import { escapeHtml } from "../render/escape.ts";

interface Start {
  title: string;
  style: string;
  csp: string;
  generator: string;
}

export function pageStart({ title, style, csp, generator }: Start): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${csp}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="${escapeHtml(generator)}">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<link rel="icon" href="data:,">
<title>${escapeHtml(title)}</title>
<style>${style}</style>
</head>
<body class="loading">
<a class="skip" href="#conversation">Skip to the conversation</a>
<header class="bar">
<button type="button" id="pane" class="quiet" aria-controls="side" aria-expanded="false" aria-label="Session tree and search" title="Session tree (t)">☰</button>
<p id="bar-title">${escapeHtml(title)}</p>
<button type="button" id="folds" class="quiet" title="Thinking and tool output (e)">Unfold all</button>
<button type="button" id="theme" class="quiet" aria-label="Colours"></button>
<button type="button" id="help-button" class="quiet" aria-label="Keyboard" title="Keyboard (?)">?</button>
</header>
<aside id="side" aria-label="Session">
<div role="search" class="search"><input type="search" id="search" placeholder="Search the session" aria-label="Search the session" autocomplete="off" spellcheck="false"><span id="search-status" role="status"></span></div>
<div class="lists">
<nav aria-label="Session tree"><ol id="tree"></ol></nav>
<nav aria-label="Search results"><ol id="results"></ol></nav>
</div>
</aside>
<main>
<div class="head">
<h1 id="title">${escapeHtml(title)}</h1>
<p id="origin"></p>
<dl id="totals"></dl>
<figure id="chart" hidden>
<div id="plot" role="slider" tabindex="0" aria-label="Tokens and cost over the session" aria-valuenow="0"></div>
<figcaption><span class="key context">context</span><span class="key output">output</span><span class="key cost">cost</span><span id="chart-note"></span></figcaption>
</figure>
</div>
<p class="wait">Reading the session…</p>
<noscript><p class="omitted">This page needs JavaScript to show the conversation. It loads nothing from the network.</p></noscript>
<h2 class="unseen">Conversation</h2>
<div id="conversation" tabindex="-1"></div>
<footer id="colophon"></footer>
</main>
<dialog id="help" aria-labelledby="help-title">
<h2 id="help-title">Keyboard</h2>
<dl>
<div><dt><kbd>j</kbd> <kbd>k</kbd></dt><dd>next, previous message</dd></div>
<div><dt><kbd>g</kbd> <kbd>G</kbd></dt><dd>beginning, end</dd></div>
<div><dt><kbd>/</kbd></dt><dd>search</dd></div>
<div><dt><kbd>n</kbd> <kbd>N</kbd></dt><dd>next, previous hit</dd></div>
<div><dt><kbd>e</kbd></dt><dd>fold or unfold everything</dd></div>
<div><dt><kbd>t</kbd></dt><dd>session tree</dd></div>
<div><dt><kbd>d</kbd></dt><dd>colours</dd></div>
<div><dt><kbd>?</kbd></dt><dd>this list</dd></div>
</dl>
<button type="button" id="help-close">Close</button>
</dialog>
`;
}

export function pageEnd(script: string): string {
  return `<script>${script}</script>\n</body>\n</html>\n`;
}
