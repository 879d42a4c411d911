const dark = `
  --page: #0d1117; --card: #151b23; --text: #e6edf3; --quiet: #9aa7b5; --line: #2a323d; --faint: #1c232d;
  --blue: #6aa7ff; --teal: #3fc7b4; --amber: #f0a94b; --red: #ff7b72; --green: #4fc46a; --violet: #b899ff;
  --pass: #12351f; --fail: #451a1a; --inconclusive: #3d2c0b; --code: #0d1117; --shade: #6aa7ff47;`

/** The style of all pages: light and dark, phone, screen and print. */
export const css = `
:root { color-scheme: light dark;
  --page: #f6f7f9; --card: #fff; --text: #16191f; --quiet: #5b6472; --line: #e1e5eb; --faint: #f1f3f6;
  --blue: #2563eb; --teal: #0c8577; --amber: #955606; --red: #bd2222; --green: #127336; --violet: #7446d8;
  --pass: #dcf5e4; --fail: #fde3e1; --inconclusive: #fdeecb; --code: #f6f7f9; --shade: #16191f26; }
@media (prefers-color-scheme: dark) { :root {${dark} } }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--page); color: var(--text); overflow-wrap: anywhere;
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
main { max-width: 1180px; margin: 0 auto; padding: 28px 20px 56px; display: grid; gap: 20px; grid-template-columns: minmax(0, 1fr); }
h1, h2, h3, p, ul, figure, dl, dd { margin: 0; padding: 0; }
h1 { font-size: 30px; line-height: 1.2; letter-spacing: -.02em; }
h2 { font-size: 18px; letter-spacing: -.01em; }
h3 { font-size: 14px; font-weight: 600; }
code, pre { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: .88em; }
a { color: var(--blue); }
.quiet { color: var(--quiet); }
.small { font-size: 13px; }
section, header { background: var(--card); border: 1px solid var(--line); border-radius: 14px; padding: 20px 22px 22px;
  display: grid; gap: 14px; grid-template-columns: minmax(0, 1fr); }
section > p { max-width: 78ch; }
header { gap: 12px; padding: 26px 26px 24px; border-top: 6px solid var(--tone); }
header.pass { --tone: var(--green); } header.fail { --tone: var(--red); } header.inconclusive { --tone: var(--amber); }
.verdict { justify-self: start; padding: 4px 14px; border-radius: 99px; font-weight: 700; letter-spacing: .06em; font-size: 13px;
  text-transform: uppercase; color: var(--tone); border: 1px solid var(--tone); }
header.pass .verdict { background: var(--pass); } header.fail .verdict { background: var(--fail); }
header.inconclusive .verdict { background: var(--inconclusive); }
.question { font-size: 17px; color: var(--quiet); }
.because { list-style: none; display: grid; gap: 6px; }
.because li { padding-left: 14px; border-left: 3px solid var(--tone); }
.because + details > .because { margin-top: 6px; }
.facts { font-size: 13px; color: var(--quiet); } .facts code { color: var(--text); }
.tiles { display: grid; gap: 12px; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); }
.tile { background: var(--card); border: 1px solid var(--line); border-radius: 14px; padding: 14px 18px; overflow-wrap: break-word; }
/* A value never breaks; a long one is smaller. */
.tile dt { font-size: 13px; color: var(--quiet); }
.tile dd { font-size: 25px; font-weight: 650; letter-spacing: -.02em; line-height: 1.3; white-space: nowrap; }
.tile dd.long, .tile dd.longer { font-size: 18px; line-height: 1.8; } .tile dd.longer { font-size: 13px; line-height: 2.5; }
.tile dd span { font-size: .6em; font-weight: 500; letter-spacing: 0; white-space: nowrap; }
#capacity .headline { font-size: 17px; } #capacity .headline b { font-size: 28px; letter-spacing: -.02em; }
.tile dd.note { font-size: 12.5px; font-weight: 400; letter-spacing: 0; color: var(--quiet); white-space: normal; }
.bad { color: var(--red); } .good { color: var(--green); } .doubtful { color: var(--amber); }
/* A shade at an edge means: scroll for more. Its cover moves with the content; the shade does not. */
.wide { overflow-x: auto; margin: 0 -6px; padding: 0 6px; background: linear-gradient(90deg, var(--card) 40%, transparent) left / 40px 100% local,
  linear-gradient(270deg, var(--card) 40%, transparent) right / 40px 100% local, linear-gradient(90deg, var(--shade), transparent) left / 14px 100%,
  linear-gradient(270deg, var(--shade), transparent) right / 14px 100%; background-repeat: no-repeat; }
table { border-collapse: collapse; width: 100%; overflow-wrap: normal; font-size: 13.5px; font-variant-numeric: tabular-nums; }
th { text-align: left; font-weight: 500; color: var(--quiet); font-size: 12.5px; white-space: nowrap; }
th, td { padding: 7px 10px; border-bottom: 1px solid var(--line); vertical-align: top; }
tbody tr:last-child > * { border-bottom: 0; }
.n { text-align: right; white-space: nowrap; }
td.words { min-width: 170px; overflow-wrap: anywhere; } .keep { white-space: nowrap; }
.finding { border: 1px solid var(--line); border-left: 4px solid var(--red); border-radius: 8px; padding: 14px 16px; display: grid; gap: 8px;
  grid-template-columns: minmax(0, 1fr); }
.finding h3 code { font-size: 14.5px; }
.finding dl, .pairs { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: 4px 14px; }
.finding dt, .pairs dt { color: var(--quiet); }
pre { margin: 0; padding: 12px 14px; border: 1px solid var(--line); border-radius: 8px; white-space: pre-wrap; overflow-wrap: anywhere;
  line-height: 1.45; max-height: 460px; overflow-y: auto; background: linear-gradient(var(--code) 40%, transparent) top / 100% 40px local,
  linear-gradient(0deg, var(--code) 40%, transparent) bottom / 100% 40px local, linear-gradient(var(--shade), transparent) top / 100% 14px,
  linear-gradient(0deg, var(--shade), transparent) bottom / 100% 14px, var(--code); background-repeat: no-repeat; }
pre.command { border-left: 3px solid var(--blue); }
details > summary { cursor: pointer; color: var(--quiet); font-size: 13.5px; }
details[open] > summary { margin-bottom: 8px; } details > * + * { margin-top: 8px; }
.charts { display: grid; gap: 24px 30px; grid-template-columns: repeat(auto-fit, minmax(min(100%, 430px), 1fr)); }
figure { display: grid; gap: 8px; align-content: end; grid-template-columns: minmax(0, 1fr); }
.silent { align-content: start; }
figcaption { display: flex; flex-wrap: wrap; gap: 2px 14px; align-items: baseline; }
figcaption .quiet { font-size: 12.5px; }
.legend { display: flex; flex-wrap: wrap; gap: 2px 14px; font-size: 12.5px; color: var(--quiet); list-style: none; }
.legend li { display: flex; align-items: center; gap: 6px; white-space: nowrap; }
.legend svg { width: 18px; height: 10px; }
.plot { padding: 14px 8px 24px 54px; }
.chart { display: block; width: 100%; overflow: visible; }
.counts { list-style: none; columns: 280px; column-gap: 30px; }
.chart text { fill: var(--quiet); font-size: 11px; font-variant-numeric: tabular-nums; }
.chart text.mark { fill: var(--green); font-weight: 600; }
.chart text.slo { fill: var(--red); font-weight: 600; paint-order: stroke; stroke: var(--card); stroke-width: 4px; stroke-linejoin: round; }
.ring { fill: var(--card); stroke: var(--quiet); stroke-width: 2; }
.warm-up { fill: var(--amber); fill-opacity: .13; } .confirmation { fill: var(--green); fill-opacity: .13; }
.grid { stroke: var(--line); stroke-width: 1; shape-rendering: crispEdges; }
.base { stroke: var(--quiet); stroke-width: 1; opacity: .6; shape-rendering: crispEdges; }
.stage { fill: var(--faint); } .bound { stroke: var(--line); stroke-dasharray: 2 3; }
.curve { fill: none; stroke-width: 2; stroke-linejoin: round; stroke-linecap: round; vector-effect: non-scaling-stroke; }
.thin { stroke-width: 1.2; } .dashed { stroke-dasharray: 6 4; } .dotted { stroke-dasharray: 2 4; }
.area { stroke: none; fill-opacity: .16; }
.blue { stroke: var(--blue); } .teal { stroke: var(--teal); } .amber { stroke: var(--amber); } .red { stroke: var(--red); }
.green { stroke: var(--green); } .violet { stroke: var(--violet); } .grey { stroke: var(--quiet); }
.f-blue { fill: var(--blue); } .f-teal { fill: var(--teal); } .f-amber { fill: var(--amber); } .f-red { fill: var(--red); }
.f-green { fill: var(--green); } .f-violet { fill: var(--violet); } .f-grey { fill: var(--quiet); }
.cell { fill: var(--blue); shape-rendering: crispEdges; }
.strip { fill: transparent; } .strip:hover { fill: var(--quiet); fill-opacity: .16; }
.lanes { display: grid; gap: 2px 14px; grid-template-columns: minmax(90px, 190px) minmax(0, 1fr) max-content; align-items: center; font-size: 13px; }
.lanes .axis { grid-column: 2; padding-bottom: 20px; } .lanes .end { color: var(--quiet); text-align: right; font-size: 12.5px; white-space: nowrap; }
.effects .lanes { grid-template-columns: minmax(90px, 290px) minmax(0, 1fr) max-content; }
.room { fill: var(--faint); } .held { fill-opacity: .35; } .lane rect, .lane path { shape-rendering: crispEdges; }
.percentile { stroke: var(--amber); stroke-width: 2; }
.refusal { stroke: var(--amber); stroke-width: 2; } .refusal.unexpected { stroke: var(--red); stroke-width: 3; }
.clauses { display: grid; gap: 8px 16px; grid-template-columns: max-content minmax(0, 1fr); align-items: center; font-size: 13px; }
.dots { display: flex; flex-wrap: wrap; gap: 4px; list-style: none; }
.dots li { width: 13px; height: 13px; border-radius: 4px; }
.dots li.good { background: var(--green); } .dots li.bad { background: var(--red); } .dots li.quiet { border: 1.5px solid color-mix(in srgb, var(--quiet) 45%, transparent); }
@media (max-width: 620px) {
  main { padding: 12px 10px 32px; gap: 12px; } section, header { padding: 16px 14px; border-radius: 11px; } h1 { font-size: 24px; }
  .tiles { grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 8px; } .tile { padding: 10px 12px; } .tile dd:not(.note, .long, .longer) { font-size: 20px; }
  .plot { padding-left: 44px; padding-right: 2px; }
  .lanes, .effects .lanes { grid-template-columns: minmax(0, 1fr) max-content; grid-auto-flow: dense; } .lanes .axis { grid-column: 1 / -1; } .lanes > .lane { grid-column: 1 / -1; grid-row: auto; }
  .lanes > .end { grid-column: 2; } .lanes > .who { grid-column: 1; }
  .cards thead { display: none; } .cards tr { display: flex; flex-wrap: wrap; gap: 1px 14px; padding: 8px 0; border-bottom: 1px solid var(--line); }
  .cards tr:last-child { border-bottom: 0; } .cards td { border: 0; padding: 0; min-width: 0; text-align: left; }
  .cards td.words { flex-basis: 100%; } .cards [data-is]::before { content: attr(data-is) " "; color: var(--quiet); }
  .finding dl, .pairs { grid-template-columns: minmax(0, 1fr); gap: 0; } .finding dd, .pairs dd { margin-bottom: 6px; }
}
@media print {
  :root { color-scheme: light; --page: #fff; --card: #fff; --text: #000; --quiet: #444; --line: #ccc; --faint: #f2f2f2; --code: #fff;
    --blue: #2563eb; --teal: #0c8577; --amber: #955606; --red: #bd2222; --green: #127336; --violet: #7446d8;
    --pass: #fff; --fail: #fff; --inconclusive: #fff; }
  body { font-size: 11px; print-color-adjust: exact; -webkit-print-color-adjust: exact; } main { padding: 0; gap: 10px; max-width: none; }
  section, header { border-radius: 0; border: 0; border-top: 2px solid var(--line); padding: 10px 0; }
  table { font-size: 9.5px; } th { white-space: normal; font-size: 9px; } th, td { padding: 4px 5px; } .tile dd { font-size: 17px; } .tile dd.long { font-size: 12px; line-height: 1.8; } .tile dd.longer { font-size: 9px; line-height: 2.5; }
  .tiles { grid-template-columns: repeat(auto-fit, minmax(88px, 1fr)); gap: 6px; } .tile { padding: 6px 10px; border-radius: 6px; }
  .tile dt, .tile dd.note { font-size: 9.5px; } #capacity .headline b { font-size: 20px; }
  /* At a page break, Chromium draws the rows of a grid over one another. */
  main, section, header, .charts, .finding { display: block; } main > *, section > *, header > *, .finding > * { margin-top: 10px; }
  .charts > figure { display: inline-grid; width: 49%; vertical-align: bottom; } .charts > figure:nth-child(even) { margin-left: 2%; }
  .charts > figure:only-child { width: 100%; }
  h1 { font-size: 24px; } .question { font-size: 13px; } .small, .pairs { font-size: 11px; }
  figure, .tile, tr, .finding dl, .pairs { break-inside: avoid; } h2, h3, summary, section > p { break-after: avoid; } .finding { box-decoration-break: clone; }
  pre { max-height: none; } .wide, pre { background: none; overflow: visible; }
  details:not(.aside)::details-content { content-visibility: visible; display: block; }
  .finding .aside:not([open]) { display: none; }
  .aside:not([open]) > summary::after { content: " (unfold to print)"; }
}
`
