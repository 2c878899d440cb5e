/** The page's style: calm colours for light and dark, one column to read, a pane to find one's way, paper. */

const light = `
  --bg: #fbfaf8; --surface: #ffffff; --sunken: #f4f2ee; --line: #e3dfd7; --ink: #24221e; --soft: #57524a; --faint: #6c665c;
  --accent: #1d665e; --accent-soft: #dcebe8; --user: #eef3f1; --user-line: #cfe0db; --warn: #973620; --warn-soft: #fbeae6;
  --add: #e5f3e7; --add-ink: #19532a; --del: #fbe8e4; --del-ink: #86291a; --mark: #ffe59a; --shadow: 0 8px 30px rgb(40 34 24 / .12);
  --keyword: #7b3a86; --string: #27643a; --number: #8f4a10; --title: #1d5a94; --type: #7d5200; --cost: #b0561d;
  --red: #a8321f; --green: #27643a; --yellow: #7d5200; --blue: #1d5a94; --magenta: #7b3a86; --cyan: #1d665e;`;

const dark = `
  --bg: #16181a; --surface: #1c1f22; --sunken: #121416; --line: #2f3438; --ink: #dddfdd; --soft: #b0b5b7; --faint: #949a9e;
  --accent: #83c5b9; --accent-soft: #1f312e; --user: #1b2524; --user-line: #2c403c; --warn: #f29c88; --warn-soft: #321d18;
  --add: #16281b; --add-ink: #a5d8ae; --del: #311c18; --del-ink: #f2ab9c; --mark: #6a5517; --shadow: 0 8px 30px rgb(0 0 0 / .5);
  --keyword: #cfa6e0; --string: #a6d2a0; --number: #e3b183; --title: #93c1ee; --type: #dcbf7e; --cost: #e6a06c;
  --red: #f29c88; --green: #a6d2a0; --yellow: #dcbf7e; --blue: #93c1ee; --magenta: #cfa6e0; --cyan: #83c5b9;`;

export const style = `
:root { color-scheme: light; ${light}
  --sans: "Inter", ui-sans-serif, system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif;
  --mono: ui-monospace, "SF Mono", "JetBrains Mono", "Cascadia Code", Menlo, Consolas, "DejaVu Sans Mono", monospace;
  --bar: 3rem; --pane: 20rem; }
@media (prefers-color-scheme: dark) { :root:not([data-theme="light"]) { color-scheme: dark; ${dark} } }
:root[data-theme="dark"] { color-scheme: dark; ${dark} }

* { box-sizing: border-box; }
html { scroll-padding-top: calc(var(--bar) + .75rem); -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--bg); color: var(--ink); font: 1rem/1.62 var(--sans); font-kerning: normal; text-rendering: optimizeLegibility; }
h1, h2, h3, h4, h5, h6, p, dl, ol, ul, pre, figure { margin: 0; }
a { color: var(--accent); text-underline-offset: .18em; text-decoration-thickness: .06em; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 4px; }
article:focus-visible, #conversation:focus { outline: none; }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.skip { position: fixed; top: -4rem; left: 1rem; z-index: 30; background: var(--surface); padding: .5rem 1rem; border-radius: 0 0 8px 8px; }
.skip:focus { top: 0; }

/* the bar above everything */
.bar { position: sticky; top: 0; z-index: 10; display: flex; align-items: center; gap: .25rem; height: var(--bar); padding: 0 .75rem;
  background: var(--bg); border-bottom: 1px solid var(--line); }
#bar-title { flex: 1; min-width: 0; padding: 0 .5rem; font-size: .875rem; font-weight: 550; color: var(--soft); white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
button { font: inherit; color: inherit; cursor: pointer; }
button.quiet { min-width: 2.25rem; height: 2.25rem; padding: 0 .6rem; border: 0; border-radius: 8px; background: none; color: var(--soft); font-size: .875rem; white-space: nowrap; }
button.quiet:hover { background: var(--sunken); color: var(--ink); }

/* the pane: search, tree, results */
#side { position: fixed; z-index: 9; top: var(--bar); bottom: 0; left: 0; width: min(var(--pane), 88vw); display: none; flex-direction: column;
  background: var(--sunken); border-right: 1px solid var(--line); font-size: .875rem; line-height: 1.4; }
.pane #side { display: flex; }
.search { position: relative; padding: .75rem; border-bottom: 1px solid var(--line); }
.search input { width: 100%; height: 2.25rem; padding: 0 .75rem; border: 1px solid var(--line); border-radius: 8px; background: var(--surface); color: var(--ink); font: inherit; }
.search input::placeholder { color: var(--faint); opacity: 1; }
#search-status { display: block; color: var(--faint); font-size: .8125rem; font-variant-numeric: tabular-nums; }
#search-status:not(:empty) { padding: .4rem .25rem 0; }
.lists { flex: 1; min-height: 0; }
.lists nav { position: relative; height: 100%; overflow-y: auto; padding: .5rem; }
.lists nav:last-child, .searching .lists nav:first-child { display: none; }
.searching .lists nav:last-child { display: block; }
.lists ol { list-style: none; padding: 0; }
.lists li { content-visibility: auto; contain-intrinsic-size: auto 2rem; }
.lists a { display: block; padding: .35rem .6rem; border-radius: 6px; color: var(--soft); text-decoration: none; overflow-wrap: anywhere; }
#tree a { white-space: nowrap; overflow: hidden; text-overflow: ellipsis; color: var(--faint); border-left: 2px solid transparent; border-radius: 0 6px 6px 0; }
#tree .on > a { color: var(--ink); border-left-color: var(--user-line); }
#tree .assistant > a, #tree .compaction > a, #tree .branch > a { font-style: italic; }
#tree .bash > a { font-family: var(--mono); font-size: .8125rem; }
#tree .fork > a::before { content: "↳ "; color: var(--accent); font-style: normal; }
#tree [data-depth="1"] { padding-left: .8rem; } #tree [data-depth="2"] { padding-left: 1.6rem; } #tree [data-depth="3"] { padding-left: 2.4rem; }
#tree [data-depth="4"] { padding-left: 3.2rem; } #tree [data-depth="5"] { padding-left: 4rem; } #tree [data-depth="6"] { padding-left: 4.8rem; }
.lists a:hover { background: var(--surface); color: var(--ink); }
.lists [aria-current] > a { background: var(--surface); color: var(--ink); border-left-color: var(--accent); }
#results .kind { display: block; color: var(--faint); font-size: .75rem; }
mark { background: var(--mark); color: inherit; border-radius: 2px; }
::highlight(found) { background: var(--mark); }

/* the column */
main { max-width: 49rem; margin: 0 auto; padding: 0 1.25rem 4rem; }
@media (min-width: 60.01rem) { .pane main { position: relative; left: calc(var(--pane) / 2); max-width: min(49rem, calc(100vw - var(--pane) - 1rem)); } }
.head { padding: 2.75rem 0 1.5rem; }
h1 { font-size: clamp(1.5rem, 1.2rem + 1.4vw, 2.05rem); line-height: 1.2; font-weight: 650; letter-spacing: -.018em; overflow-wrap: anywhere; text-wrap: balance; }
#origin { margin-top: .5rem; color: var(--faint); font-size: .875rem; overflow-wrap: anywhere; }
#totals { display: flex; flex-wrap: wrap; gap: .75rem 2rem; margin-top: 1.4rem; }
#totals dt { color: var(--faint); font-size: .75rem; }
#totals dd { margin: 0; font-size: 1.0625rem; font-weight: 550; font-variant-numeric: tabular-nums; }
#chart { margin-top: 1.4rem; }
#plot { height: 6.5rem; border-bottom: 1px solid var(--line); cursor: crosshair; touch-action: pan-y; }
#plot svg { display: block; width: 100%; height: 100%; }
#plot .grid { stroke: var(--line); stroke-dasharray: 2 4; vector-effect: non-scaling-stroke; }
#plot .context { fill: var(--accent); opacity: .22; } #plot .output { fill: var(--accent); opacity: .7; }
#plot .cost { fill: none; stroke: var(--cost); stroke-width: 1.75; vector-effect: non-scaling-stroke; stroke-linejoin: round; }
#plot .cursor { stroke: var(--ink); vector-effect: non-scaling-stroke; }
figcaption { display: flex; flex-wrap: wrap; gap: .25rem 1rem; margin-top: .4rem; color: var(--faint); font-size: .8125rem; font-variant-numeric: tabular-nums; }
#chart-note { margin-left: auto; }
.key::before { content: ""; display: inline-block; width: .7em; height: .7em; margin-right: .4em; border-radius: 2px; background: var(--accent); opacity: .35; }
.key.output::before { opacity: .85; } .key.cost::before { background: var(--cost); opacity: 1; height: 2px; vertical-align: .25em; }
.wait { display: none; color: var(--faint); } .loading .wait { display: block; }

/* messages */
.entry { padding: .55rem 0; scroll-margin-top: calc(var(--bar) + .75rem); }
.entry > header { display: flex; align-items: baseline; gap: .6rem; min-height: 1.5rem; font-size: .8125rem; color: var(--faint); }
.who { font-weight: 600; color: var(--ink); }
.model { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.right { display: flex; gap: .8rem; margin-left: auto; white-space: nowrap; font-variant-numeric: tabular-nums; }
.entry > header .usage, .entry > header .anchor { visibility: hidden; }
.entry:hover > header .usage, .entry:hover > header .anchor, .entry:focus-within > header .usage, .entry:focus-within > header .anchor { visibility: visible; }
.anchor { color: var(--faint); text-decoration: none; padding: 0 .2rem; } .anchor:hover { color: var(--accent); }
.label, .badge { padding: 0 .45rem; border-radius: 99px; background: var(--accent-soft); color: var(--accent); font-size: .75rem; white-space: nowrap; }
.badge { background: var(--warn-soft); color: var(--warn); }
.entry.user { margin: 1.6rem 0 .8rem; padding: .85rem 1.15rem 1rem; background: var(--user); border: 1px solid var(--user-line); border-radius: 12px; }
.entry.following { position: relative; padding-top: 0; } .entry.following > header { position: absolute; z-index: 1; top: -1.1rem; right: 0; visibility: hidden; }
.entry.following:hover > header, .entry.following:focus-within > header { visibility: visible; }
.entry.note { padding: .2rem 0; } .note { text-align: center; color: var(--faint); font-size: .8125rem; }
.entry.note .body { display: flex; flex-wrap: wrap; justify-content: center; gap: 0 1.25rem; }
.entry.out > .body { border-left: 2px solid var(--line); padding-left: .9rem; filter: saturate(.5); }
.entry.target { animation: arrive 1.6s ease-out; }
@keyframes arrive { from { background: var(--accent-soft); box-shadow: 0 0 0 .5rem var(--accent-soft); border-radius: 8px; } }
@media (prefers-reduced-motion: reduce) { .entry.target { animation: none; } }
.choice { display: flex; align-items: center; gap: .35rem; margin-top: 1.4rem; color: var(--faint); font-size: .8125rem; }
.choice::before, .choice::after { content: ""; flex: 1; border-top: 1px solid var(--line); } .choice::before { margin-right: .5rem; } .choice::after { margin-left: .5rem; }
.choice .step { min-width: 1.75rem; line-height: 1.75rem; text-align: center; text-decoration: none; border-radius: 6px; font-size: 1.1rem; } .choice a.step:hover { background: var(--sunken); }
.choice span.step { opacity: .35; }
.origin, .omitted { color: var(--faint); font-size: .8125rem; } .omitted { padding: .3rem 0; }
.failure { margin-top: .5rem; padding: .45rem .8rem; border-radius: 8px; background: var(--warn-soft); color: var(--warn); font-size: .875rem; overflow-wrap: anywhere; }
.image { display: block; max-width: 100%; max-height: 32rem; margin: .75rem 0; border-radius: 8px; border: 1px solid var(--line); }

/* prose */
.md, .plain { overflow-wrap: anywhere; } .plain { white-space: pre-wrap; }
.md > * + * { margin-top: .8em; }
.md h3, .md h4, .md h5, .md h6 { line-height: 1.3; font-weight: 650; letter-spacing: -.008em; } .md > * + :is(h3, h4, h5, h6) { margin-top: 1.5em; }
.md .h1 { font-size: 1.3rem; } .md .h2 { font-size: 1.15rem; } .md .h3, .md .h4, .md .h5, .md .h6 { font-size: 1rem; }
.md ul, .md ol { padding-left: 1.4em; } .md li + li, .md li > ul, .md li > ol { margin-top: .3em; } .md li > p + p { margin-top: .5em; }
.md blockquote { margin-inline: 0; padding-left: 1em; border-left: 3px solid var(--line); color: var(--soft); } .md hr { border: 0; border-top: 1px solid var(--line); margin: 1.6em 0; }
.md code { padding: .12em .34em; border-radius: 5px; background: var(--sunken); font-size: .86em; } .entry.user .md code { background: var(--surface); }
.dead-link { text-decoration: underline dotted; text-underline-offset: .18em; }
.table { overflow-x: auto; } table { border-collapse: collapse; font-size: .9375rem; font-variant-numeric: tabular-nums; }
th, td { min-width: 5rem; padding: .4rem .8rem; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; overflow-wrap: normal; } th { font-weight: 600; color: var(--soft); } th:first-child, td:first-child { padding-left: 0; }
code, pre, kbd { font-family: var(--mono); font-variant-ligatures: none; }
pre { font-size: .8125rem; line-height: 1.55; tab-size: 4; }
pre code, .md pre code { padding: 0; background: none; font-size: inherit; }
.code { position: relative; overflow-x: auto; padding: .8rem 1rem; border-radius: 8px; background: var(--sunken); } .entry.user .code { background: var(--surface); }
.copy { position: absolute; top: .4rem; right: .4rem; padding: .15rem .6rem; border: 1px solid var(--line); border-radius: 6px; background: var(--surface); color: var(--soft); font: .75rem/1.5 var(--sans); opacity: 0; }
.code:hover .copy, .copy:focus-visible { opacity: 1; }

/* folds */
details.thinking { margin: .35rem 0; color: var(--soft); font-size: .9375rem; } details.thinking > .md { padding: .35rem 0 .35rem 1rem; border-left: 2px solid var(--line); }
summary { cursor: pointer; list-style: none; } summary::-webkit-details-marker { display: none; }
summary::before { content: "›"; display: inline-block; width: .9rem; color: var(--faint); transition: transform .12s; flex: none; } details[open] > summary::before { transform: rotate(90deg); transform-origin: .22rem 55%; }
.thinking > summary { color: var(--faint); white-space: nowrap; overflow: hidden; text-overflow: ellipsis; } .thought { font-style: italic; padding-left: .35rem; } .thinking[open] .thought { visibility: hidden; }
.tool { margin: .45rem 0; border: 1px solid var(--line); border-radius: 9px; background: var(--surface); font-size: .875rem; }
.tool > summary { display: flex; align-items: baseline; gap: .5rem; padding: .42rem .8rem; border-radius: 9px; } .tool > summary:hover { background: var(--sunken); }
.tool-name { font-weight: 600; } .tool-title { min-width: 0; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; color: var(--soft); font: .8125rem/1.5 var(--mono); }
.stat { margin-left: auto; padding-left: .75rem; color: var(--faint); font-size: .8125rem; white-space: nowrap; font-variant-numeric: tabular-nums; } .tool.failed .stat { color: var(--warn); }
.tool-body { padding: .1rem .8rem .7rem; } .tool-body > * + * { margin-top: .5rem; } .tool-body > .md { padding-top: .3rem; }
.term { padding: .7rem .9rem; border-radius: 8px; background: var(--sunken); white-space: pre-wrap; overflow-wrap: anywhere; } .result.failed .term { background: var(--warn-soft); }
.diff { overflow-x: auto; padding: .5rem 0; border-radius: 8px; background: var(--sunken); } .diff code { display: block; min-width: max-content; } .diff span { display: block; padding: 0 .9rem; white-space: pre; }
.diff .add { background: var(--add); color: var(--add-ink); } .diff .del { background: var(--del); color: var(--del-ink); } .diff .ctx { color: var(--soft); } .diff .hunk, .diff .meta { color: var(--faint); }

/* code and terminal colours */
.hljs-comment, .hljs-quote, .hljs-meta { color: var(--faint); font-style: italic; } .hljs-keyword, .hljs-selector-tag, .hljs-literal, .hljs-section, .hljs-doctag { color: var(--keyword); }
.hljs-string, .hljs-regexp, .hljs-attr, .hljs-symbol, .hljs-bullet { color: var(--string); } .hljs-number, .hljs-template-variable, .hljs-variable { color: var(--number); }
.hljs-title, .hljs-name, .hljs-selector-id, .hljs-selector-class, .hljs-link { color: var(--title); } .hljs-type, .hljs-built_in, .hljs-attribute, .hljs-property { color: var(--type); }
.hljs-addition { color: var(--add-ink); background: var(--add); } .hljs-deletion { color: var(--del-ink); background: var(--del); } .hljs-emphasis { font-style: italic; } .hljs-strong { font-weight: 650; }
.ansi-red { color: var(--red); } .ansi-green { color: var(--green); } .ansi-yellow { color: var(--yellow); } .ansi-blue { color: var(--blue); } .ansi-magenta { color: var(--magenta); } .ansi-cyan { color: var(--cyan); }
.ansi-black, .ansi-dim { color: var(--faint); } .ansi-bold { font-weight: 650; } .ansi-italic { font-style: italic; } .ansi-underline { text-decoration: underline; }

footer { margin-top: 4rem; padding-top: 1rem; border-top: 1px solid var(--line); color: var(--faint); font-size: .8125rem; overflow-wrap: anywhere; }
dialog { padding: 1.5rem 1.75rem; border: 1px solid var(--line); border-radius: 14px; background: var(--surface); color: var(--ink); box-shadow: var(--shadow); } dialog::backdrop { background: rgb(0 0 0 / .35); }
dialog h2 { font-size: 1.0625rem; } dialog dl { margin: 1rem 0; } dialog dl div { display: flex; gap: 1.5rem; padding: .2rem 0; } dialog dt { min-width: 4rem; } dialog dd { margin: 0; color: var(--soft); }
kbd { padding: .1rem .4rem; border: 1px solid var(--line); border-bottom-width: 2px; border-radius: 5px; font-size: .8125rem; } #help-close { padding: .35rem .9rem; border: 1px solid var(--line); border-radius: 8px; background: var(--sunken); }

@media (max-width: 60rem) { .pane #side { box-shadow: var(--shadow); } }
@media (max-width: 40rem) {
  main { padding: 0 1rem 3rem; } .head { padding: 1.75rem 0 1rem; } #totals { gap: .6rem 1.5rem; } .entry.user { margin-inline: -.4rem; padding-inline: .9rem; } .model { display: none; }
  .entry > header .usage { display: none; } #chart-note { margin-left: 0; width: 100%; } pre { font-size: .78rem; }
}
@media (hover: none) { .entry > header .anchor { visibility: visible; } .entry.following > header { position: static; visibility: visible; } .copy { opacity: 1; } }
@media print {
  :root, :root[data-theme], :root:not([data-theme="light"]) { color-scheme: light; ${light} --bg: #fff; }
  .bar, #side, .choice .step, .copy, .anchor, .skip, dialog { display: none !important; }
  html { font-size: 10pt; } main { max-width: none !important; left: 0 !important; padding: 0; } .head { padding-top: 0; }
  .code, .diff, .term { white-space: pre-wrap; overflow: visible; border: 1px solid var(--line); } .diff code { min-width: 0; } .diff span { white-space: pre-wrap; }
  .tool, .entry.user { break-inside: avoid-page; } .tool[open] { break-inside: auto; } h1, h3, h4, .entry > header { break-after: avoid; } .entry.target { animation: none; }
}
`;
