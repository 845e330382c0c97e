// Pages are rendered by the server. A part of a page, an element with data-part, is changed into the
// same part of a newer page. What the server sends as before stays: its elements, with what a person
// does in them.

/** The parts as the server sent them last. What a script or a person changed on the page is not in them. */
const sent = document.implementation.createHTMLDocument()

/** What scripts listen in, or append to: it is replaced as a whole. */
const asOne = 'form,weft-form,weft-slider,#drafts'

const moments = new Intl.DateTimeFormat(undefined, { dateStyle: 'short', timeStyle: 'medium' })

/** @param {ParentNode} root */
function localTimes(root) {
  for (const time of /** @type {NodeListOf<HTMLTimeElement>} */ (root.querySelectorAll('time[datetime]'))) {
    const at = new Date(time.dateTime)
    if (Number.isNaN(at.getTime())) continue
    if (time.dataset.until !== undefined) {
      time.dataset.until = moments.format(at)
      countDown(time)
      continue
    }
    const [text, title] = [moments.format(at), time.dateTime.replace('T', ' ').replace('Z', ' UTC')]
    if (time.title !== title) time.title = title
    if (time.textContent !== text) time.textContent = text
  }
}

/**
 * Shows how long it is until a question expires.
 * @param {HTMLTimeElement} time
 */
function countDown(time) {
  const s = Math.ceil((new Date(time.dateTime).getTime() - Date.now()) / 1000)
  const [days, hours, minutes] = [Math.floor(s / 86400), Math.floor(s / 3600) % 24, Math.floor(s / 60) % 60]
  const text = s <= 0 ? 'has expired' : 'expires in ' + (days ? `${days} d ${hours} h` : hours ? `${hours} h ${minutes} min` : minutes ? `${minutes} min ${s % 60} s` : `${s} s`)
  const whole = `${text} (${time.dataset.until})`
  if (time.textContent !== whole) time.textContent = whole
}

setInterval(() => {
  for (const time of /** @type {NodeListOf<HTMLTimeElement>} */ (document.querySelectorAll('time[data-until]'))) countDown(time)
}, 1000)

/**
 * Makes the next refresh show an element as the server sends it, also if it sends it as before.
 * @param {Element | null} element that has an id
 */
export function stale(element) { if (element) sent.getElementById(element.id)?.replaceChildren() }

/**
 * Removes an element that the server will not send any more.
 * @param {Element} element that has an id
 */
export function remove(element) {
  sent.getElementById(element.id)?.remove()
  element.remove()
}

/**
 * Reports whether a person is writing in a part, or an answer in it is being sent, so that it must
 * stay. A form with a mistake is still to be mended, unless the page shows another step by now.
 * @param {Element} part
 * @param {string | null | undefined} at the step that the page shows; nothing if it has none
 */
function isEdited(part, at) {
  if (part.querySelector('[data-held],.question > [role=alert]')) return true
  for (const alert of part.querySelectorAll('form > [role=alert]')) {
    const of = alert.parentElement?.querySelector('input[type=hidden][name=at]')?.getAttribute('value')
    if (!at || !of || at === of) return true
  }
  for (const field of part.querySelectorAll('input,textarea,select')) {
    if (field.type === 'hidden') continue
    if (field.type === 'range') {
      if (field.matches(':active')) return true
      continue
    }
    if (field.type === 'checkbox' ? field.checked !== field.defaultChecked : differs(field)) return true
  }
  return false
}

/** Whether a field differs from what the server has sent. */
export const differs = (field) => field.options
  ? field.selectedIndex !== Math.max([...field.options].findIndex((o) => o.defaultSelected), 0)
  : field.value !== field.defaultValue

/** The details in an element: their texts, and whether they are open. */
function opened(element) {
  return [...element.querySelectorAll('details')].map((d) => ({ text: d.querySelector('summary')?.textContent, open: d.open }))
}

/**
 * What a node has in common with the same node of another page: its id, or else its name and class.
 * @param {any} node
 * @param {boolean} folds whether the summaries of details tell them apart, since their number differs
 */
function kindOf(node, folds) {
  const id = node.getAttribute?.('id')
  if (id) return '#' + id
  if (folds && node.nodeName === 'DETAILS') return 'DETAILS ' + node.querySelector('summary')?.textContent
  return node.nodeName + ' ' + (node.getAttribute?.('class') ?? '')
}

/**
 * Changes what is shown of a node into a newer one. The node itself becomes equal to the newer one.
 * @param {any} was the node as the server sent it last
 * @param {any} now what the page shows of it
 * @param {any} next the newer one, of which nothing must be used afterwards
 */
function change(was, now, next) {
  if (was.isEqualNode(next)) return
  const [before, shown] = [[...was.childNodes], [...now.childNodes]]
  // A script has added or removed something, so it is not known which node is which.
  const unlike = before.length !== shown.length || before.some((node, i) => node.nodeName !== shown[i].nodeName)
  if (unlike || was.nodeName !== next.nodeName || next.matches?.(asOne)) {
    replace(was, now, next)
    return
  }
  if (!next.attributes) { // a text
    was.data = now.data = next.data
    return
  }
  for (const { name } of [...was.attributes]) if (!next.hasAttribute(name)) for (const node of [was, now]) node.removeAttribute(name)
  for (const { name, value } of [...next.attributes]) {
    if (was.getAttribute(name) !== value) for (const node of [was, now]) node.setAttribute(name, value)
  }
  const coming = [...next.childNodes]
  const [few, many] = [before, coming].map((nodes) => nodes.filter((node) => node.nodeName === 'DETAILS').length)
  /** @type {Map<string, number[]>} the places of nodes that are not found again yet */
  const free = new Map()
  before.forEach((node, i) => {
    const kind = kindOf(node, few !== many)
    const places = free.get(kind)
    if (places) places.push(i)
    else free.set(kind, [i])
  })
  const from = coming.map((node) => free.get(kindOf(node, few !== many))?.shift())
  for (const i of [...free.values()].flat()) {
    before[i].remove()
    shown[i].remove()
  }
  let [a, b] = [was.firstChild, now.firstChild]
  coming.forEach((node, k) => {
    const i = from[k]
    if (i === undefined) {
      now.insertBefore(document.importNode(node, true), b)
      was.insertBefore(node, a)
      return
    }
    if (before[i] === a) [a, b] = [a.nextSibling, b.nextSibling]
    else { was.insertBefore(before[i], a); now.insertBefore(shown[i], b) }
    change(before[i], shown[i], node)
  })
}

/** Replaces a node as a whole. Its details stay open. */
function replace(was, now, next) {
  const folds = now.querySelectorAll ? opened(now) : []
  const made = document.importNode(next, true)
  was.replaceWith(next)
  now.replaceWith(made)
  if (made.nodeName === 'DETAILS') made.open = now.open
  if (!folds.length) return
  const details = made.querySelectorAll('details')
  details.forEach((d, i) => {
    const before = details.length === folds.length ? folds[i] : folds.find((f) => f.text === d.querySelector('summary')?.textContent)
    if (before) d.open = before.open
  })
}

/** Offers a reload if another program has answered than the one that made the page. */
function sameBuild(answer) {
  const mine = document.querySelector('meta[name=weft-build]')?.getAttribute('content')
  const now = answer.headers.get('X-Weft-Build')
  if (!now || now === mine || document.getElementById('newer')) return
  const note = document.createElement('p')
  note.id = 'newer'
  note.className = 'lost'
  note.setAttribute('role', 'status')
  const button = document.createElement('button')
  button.textContent = 'Reload'
  button.onclick = () => location.reload()
  note.append('The server has another version than this page. ', button)
  document.querySelector('main h1')?.after(note)
}

let number = 0
let fetching = new AbortController()
/** @type {ReturnType<typeof setTimeout> | undefined} */
let rest

/** How long a page is shown before its other parts are fetched, in ms: less than that, and a slider has moved on. */
const pause = 60

/**
 * Fetches a page and replaces the parts of this one that differ. A later call takes the place of
 * one under way. It returns false if the page could not be fetched.
 * @param {string} [url]
 * @param {boolean} [first] whether the server may leave out parts, which are fetched afterwards
 */
export async function refresh(url = location.href, first = false) {
  const mine = ++number
  clearTimeout(rest)
  fetching.abort()
  fetching = new AbortController()
  let page
  try {
    /** @type {Record<string, string>} */
    const headers = { Accept: 'text/html' }
    if (first) headers['X-Weft-Parts'] = 'first'
    const answer = await fetch(url, { headers, redirect: 'follow', signal: fetching.signal })
    sameBuild(answer)
    if (!answer.ok && answer.status !== 404) return mine !== number
    page = new DOMParser().parseFromString(await answer.text(), 'text/html')
    if (mine === number && answer.headers.has('X-Weft-Parts')) {
      rest = setTimeout(async () => { if (!(await refresh(url))) location.assign(url) }, pause)
    }
  } catch {
    return mine !== number
  }
  if (mine !== number) return true
  document.title = page.title
  const at = page.getElementById('at')?.getAttribute('value')
  for (const now of document.querySelectorAll('[data-part]')) {
    const next = page.getElementById(now.id)
    const was = sent.getElementById(now.id)
    if (!next || !was || !now.isConnected || was.isEqualNode(next) || isEdited(now, at)) continue
    const focus = now.contains(document.activeElement) ? /** @type {HTMLElement} */ (document.activeElement) : null
    change(was, now, next)
    if (focus && focus !== document.activeElement) document.getElementById(focus.id)?.focus({ preventScroll: true })
    const part = document.getElementById(now.id)
    if (!part) continue
    localTimes(part)
    part.dispatchEvent(new CustomEvent('weft-part', { bubbles: true }))
  }
  return true
}

/**
 * Shows another page of the same kind in place of this one.
 * @param {string} url
 * @param {boolean} [replace] whether it takes the place of this one in the history, too
 * @param {boolean} [first] whether some parts may come afterwards
 */
export async function visit(url, replace = false, first = true) {
  if (replace) history.replaceState(null, '', url)
  else history.pushState(null, '', url)
  if (!(await refresh(url, first))) location.assign(url)
}

addEventListener('popstate', () => { refresh().then((ok) => { if (!ok) location.reload() }) })

/** Returns a function that refreshes at most four times a second, and the last time for sure. */
export function coalesced() {
  let due = false
  let busy = false
  const run = async () => {
    if (busy) { due = true; return }
    busy = true
    due = false
    await refresh()
    setTimeout(() => { busy = false; if (due) run() }, 250)
  }
  return run
}

for (const part of document.querySelectorAll('[data-part]')) {
  if (!sent.getElementById(part.id)) sent.body.append(sent.importNode(part, true)) // some are within others
}
localTimes(document)
