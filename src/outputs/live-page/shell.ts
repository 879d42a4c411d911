import { digestSource, styleSource } from '../../report/render/html.ts'
import { css } from '../../report/render/html-style.ts'
import { fixedScript, type Html, html, nothing, styleSheet } from '../../report/render/markup.ts'

/** Besides the style of all pages. */
const liveStyle = `
.bar { position: sticky; top: 0; z-index: 1; display: flex; flex-wrap: wrap; gap: 8px 14px; align-items: center; padding: 10px 20px;
  background: var(--card); border-bottom: 1px solid var(--line); }
.bar p { margin: 0; flex: 1 1 200px; min-width: 0; } .bar form { display: flex; flex-wrap: wrap; gap: 8px; }
.bar button, .bar input { font: inherit; font-size: 14px; padding: 6px 14px; border-radius: 8px; border: 1px solid var(--line);
  background: var(--card); color: var(--text); min-height: 36px; max-width: 100%; }
.bar button { border-color: var(--red); color: var(--red); cursor: pointer; } .bar button:disabled { opacity: .5; cursor: default; }
.bar button:focus-visible, .bar input:focus-visible, summary:focus-visible { outline: 3px solid var(--blue); outline-offset: 2px; }
.part { display: grid; grid-template-columns: minmax(0, 1fr); }
`

/**
 * The script of the live page. It puts sections into the page as they change, keeps what the reader has unfolded, and
 * shows the report in the end. All markup comes escaped from the server; the policy of the page allows this text only.
 */
export const pageScript = `
'use strict'
const byId = id => document.getElementById(id)
const main = byId('run'), notice = byId('notice'), button = byId('end'), token = byId('token')
const source = new EventSource('events')
let misses = 0

function keyOf(fold) {
  const finding = fold.closest('.finding')
  const scope = finding || fold.closest('.part')
  const title = scope.querySelector('h3')
  const name = title === null ? '' : title.textContent.replace(/^\\d+\\. /, '')
  // Several judges may find violations of one clause.
  const judge = finding === null ? null : /judged by .*/.exec(finding.textContent)
  return [name, judge, folds(scope).indexOf(fold)].join('|')
}
function folds(root) { return [...root.querySelectorAll('details')] }

function put(id, markup) {
  const next = document.createElement('div')
  next.className = 'part'
  next.id = 'part-' + id
  next.innerHTML = markup
  const before = byId(next.id)
  if (before === null) return next
  const states = new Map(folds(before).map(fold => [keyOf(fold), fold.open]))
  for (const fold of folds(next)) {
    const open = states.get(keyOf(fold))
    if (open !== undefined) fold.open = open
  }
  const focused = before.contains(document.activeElement) && document.activeElement.closest('details')
  const scrolled = [...before.querySelectorAll('pre, .wide')].map(each => [each.scrollTop, each.scrollLeft])
  before.replaceWith(next)
  ;[...next.querySelectorAll('pre, .wide')].forEach((each, index) => {
    if (scrolled[index]) [each.scrollTop, each.scrollLeft] = scrolled[index]
  })
  if (focused) {
    const same = folds(next).find(fold => keyOf(fold) === keyOf(focused))
    if (same) same.querySelector('summary').focus({ preventScroll: true })
  }
  return next
}

function isSelecting(part) {
  const selection = getSelection()
  return part !== null && !selection.isCollapsed && part.contains(selection.anchorNode)
}

source.addEventListener('frame', event => {
  const { title, order, sections, note, isEnding } = JSON.parse(event.data)
  misses = 0
  document.title = title
  notice.textContent = note
  button.textContent = isEnding ? 'Quit now' : 'End the run'
  for (const { id, markup } of sections) if (!isSelecting(byId('part-' + id))) put(id, markup)
  for (const part of [...main.children]) if (!order.includes(part.id.slice(5))) part.remove()
  const made = new Map(sections.map(each => [each.id, each.markup]))
  let last = null
  for (const id of order) {
    const part = byId('part-' + id) || (made.has(id) ? put(id, made.get(id)) : null)
    if (part === null) continue
    const place = last === null ? main.firstElementChild : last.nextElementSibling
    if (place !== part) main.insertBefore(part, place)
    last = part
  }
})

source.addEventListener('report', event => {
  source.close()
  const report = new DOMParser().parseFromString(JSON.parse(event.data), 'text/html')
  document.documentElement.replaceWith(document.adoptNode(report.documentElement))
  scrollTo(0, 0)
})

source.addEventListener('error', () => {
  misses++
  notice.textContent = 'The connection to the run is lost.'
  if (misses > 5) source.close()
})

byId('ending').addEventListener('submit', async event => {
  event.preventDefault()
  const headers = { 'content-type': 'application/json' }
  if (token !== null && token.value !== '') headers.authorization = 'Bearer ' + token.value
  button.disabled = true
  const response = await fetch('end', { method: 'POST', headers, body: '{}' }).catch(() => null)
  button.disabled = false
  if (response !== null && !response.ok) notice.textContent = await response.text()
})
`

/** Nothing but this server, this style and this script. The report that the page becomes has the first style. */
export const livePolicy = [
  "default-src 'none'",
  `style-src ${styleSource} ${digestSource(liveStyle)}`,
  `script-src ${digestSource(pageScript)}`,
  "connect-src 'self'",
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** Who may end the run: everybody on this machine; from other machines, only users with a token, if there is one. */
export type EndButton = 'shown' | 'with-token' | 'hidden'

/** The page without its content, which arrives as events. */
export const liveShell = (scenario: string, end: EndButton): string =>
  html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer"><link rel="icon" href="data:,"><title>${scenario}</title>
${styleSheet(css)}${styleSheet(liveStyle)}</head><body>
<div class="bar" role="region" aria-label="The run"><p id="notice" class="small quiet">Waiting for the run.</p>${endForm(end)}</div>
<main id="run"></main>
${fixedScript(pageScript)}</body></html>
`.markup

function endForm(end: EndButton): Html {
  const field = html`<input id="token" type="password" autocomplete="off" aria-label="Token" placeholder="TURNPIKE_UI_TOKEN">`
  // Hidden and not left out: the script needs it.
  const hidden = end === 'hidden' ? html` hidden` : nothing
  return html`<form id="ending">${end === 'with-token' ? field : nothing}<button id="end"${hidden}>End the run</button></form>`
}
