// Pages are rendered by the server. A part of a page, an element with data-part, is replaced by
// the same part of a newer page; what a person does in it meanwhile stays.

/** @type {WeakMap<Element, string>} what the server sent for a part */
const sent = new WeakMap()

/** Remembers the parts of the page as they came, and shows times in the zone of the reader. */
export function adopt(root = document) {
  for (const part of root.querySelectorAll('[data-part]')) sent.set(part, part.outerHTML)
  localTimes(root)
}

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
    time.title = time.dateTime.replace('T', ' ').replace('Z', ' UTC')
    time.textContent = moments.format(at)
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
 * Makes the next refresh replace a part, also if the server sends it as before.
 * @param {Element | null} part
 */
export function stale(part) { if (part) sent.delete(part) }

/** Reports whether a person is writing in a part, or an answer in it is being sent, so that it must not be replaced. */
function isEdited(part) {
  if (part.querySelector('[data-held],.question > [role=alert],form > [role=alert]')) return true // a form with a mistake is still to be mended
  for (const field of part.querySelectorAll('input,textarea,select')) {
    if (field.type === 'hidden') continue
    if (field.type === 'range') {
      if (field.matches(':active')) return true
      continue
    }
    if (field.defaultValue !== undefined && field.value !== field.defaultValue) return true
    if (field.type === 'checkbox' && field.checked !== field.defaultChecked) return true
  }
  return false
}

/** The details of a part: their texts, and whether they are open. */
function opened(part) {
  return [...part.querySelectorAll('details')].map((d) => ({ text: d.querySelector('summary')?.textContent, open: d.open }))
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
  for (const now of document.querySelectorAll('[data-part]')) {
    const next = page.getElementById(now.id)
    if (!next || !now.isConnected) continue
    const text = next.outerHTML
    if (sent.get(now) === text || isEdited(now)) continue
    const folds = opened(now)
    const focus = now.contains(document.activeElement) ? /** @type {HTMLElement} */ (document.activeElement).id : ''
    const [left, top] = [now.querySelector('.scroll')?.scrollLeft ?? 0, now.querySelector('.scroll')?.scrollTop ?? 0]
    sent.set(next, text)
    localTimes(next)
    now.replaceWith(document.adoptNode(next))
    const details = next.querySelectorAll('details')
    details.forEach((d, i) => {
      const before = details.length === folds.length ? folds[i] : folds.find((f) => f.text === d.querySelector('summary')?.textContent)
      if (before) d.open = before.open
    })
    next.querySelector('.scroll')?.scrollTo(left, top)
    if (focus) document.getElementById(focus)?.focus({ preventScroll: true })
    next.dispatchEvent(new CustomEvent('weft-part', { bubbles: true }))
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
