// <weft-inbox>: the keys of the inbox, and a moment in which an answer can be taken back.
import { refresh, remove } from './refresh.js'

/** How many characters wait at most: a browser sends no more when a page is left. */
const most = 50_000

/** How long a question is on the screen until it is not new any more, in ms, and how many a browser remembers. */
const look = 2000
const remembered = 2000

/** What an answer that waits hides of its question. */
const forms = 'form,details[data-key]'

class Inbox extends HTMLElement {
  connectedCallback() {
    /** @type {{section: HTMLElement, form: HTMLFormElement, body: URLSearchParams, name: string, timer: any}[]} the newest last */
    this.waiting = []
    this.hidden = false
    const box = /** @type {HTMLInputElement} */ (this.querySelector('input'))
    box.checked = localStorage.getItem('weft-undo') !== 'off'
    box.addEventListener('change', () => localStorage.setItem('weft-undo', box.checked ? 'on' : 'off'))
    this.waits = () => box.checked
    addEventListener('keydown', (e) => this.key(e))
    document.addEventListener('submit', (e) => this.submit(e))
    /** @type {Map<string, number>} since when new questions are on the screen, by their ids */
    this.looked = new Map()
    this.screen = new IntersectionObserver((entries) => { for (const e of entries) this.see(e) }, { threshold: [0, 0.25, 0.5, 1] })
    setInterval(() => this.remember(), look / 4)
    this.known = this.listed()
    this.fresh()
    document.addEventListener('weft-part', () => this.changed())
    addEventListener('pagehide', () => { for (const w of [...this.waiting]) this.send(w, true) })
  }

  /** How long an answer can be taken back, in ms. */
  get moment() { return Number(this.dataset.moment ?? 5000) }

  /** The questions that can be answered, in their order. */
  get questions() { return /** @type {HTMLElement[]} */ ([...document.querySelectorAll('.question')]) }

  /** The questions of the list: their prompts and pages, by their ids. */
  listed() {
    return new Map(this.questions.map((q) => [q.id, { prompt: q.querySelector('.prompt')?.textContent ?? 'A question', href: q.querySelector('a[data-page]')?.getAttribute('href') }]))
  }

  /** Marks the questions that this browser has not shown before. */
  fresh() {
    const seen = seenQuestions()
    for (const q of this.questions) {
      if (seen.includes(q.id) || q.querySelector('.new')) continue
      const mark = document.createElement('span')
      mark.className = 'status new'
      mark.textContent = 'new'
      q.querySelector('p')?.prepend(mark, ' ')
      this.screen.observe(q)
    }
  }

  /** @param {IntersectionObserverEntry} e of a new question: half of it, or of the window, must be seen */
  see(e) {
    const least = Math.min(e.boundingClientRect.height, innerHeight) / 2
    if (!e.isIntersecting || e.intersectionRect.height < least) this.looked.delete(e.target.id)
    else if (!this.looked.has(e.target.id)) this.looked.set(e.target.id, performance.now())
  }

  /** Remembers the questions that were on the screen for long enough. */
  remember() {
    if (document.hidden) return
    const seen = [...this.looked].filter(([, since]) => performance.now() - since >= look).map(([id]) => id)
    if (!seen.length) return
    for (const id of seen) this.looked.delete(id)
    const before = seenQuestions()
    localStorage.setItem('weft-seen', JSON.stringify([...before, ...seen.filter((id) => !before.includes(id))].slice(-remembered)))
  }

  /** Reports who has answered questions that are not in the list any more. */
  changed() {
    this.fresh()
    const before = this.known
    this.known = this.listed()
    const gone = [...before].filter(([id, q]) => q.href && !this.known.has(id)).slice(0, 3)
    for (const [, q] of gone) this.report(q)
  }

  async report({ prompt, href }) {
    const text = await closed(href)
    if (text) this.querySelector('.sent')?.replaceChildren(`“${prompt}”: ${text}`)
  }

  /** The question that has the focus. */
  get current() { return /** @type {HTMLElement | null} */ (document.activeElement?.closest('.question')) }

  /** @param {KeyboardEvent} e */
  key(e) {
    const target = /** @type {HTMLElement} */ (e.target)
    if (e.defaultPrevented || e.altKey || document.querySelector('dialog[open]')) return
    if (e.key === 'Enter' && (e.ctrlKey || e.metaKey)) {
      const form = target.closest?.('.question form')
      const name = target.getAttribute?.('name')
      const button = form && target.closest('button') || name === 'message' && form?.querySelector('[data-key=r],[value=respond]')
        || name === 'raw' && form?.querySelector('[name=from]') || form?.querySelector('button')
      if (!button) return
      e.preventDefault()
      button.click()
      return
    }
    if (e.ctrlKey || e.metaKey || target.closest?.('input:not([type=checkbox]),textarea,select')) return
    const act = { j: () => this.move(1), k: () => this.move(-1), a: () => this.press('a'), e: () => this.edit(), r: () => this.reject(), u: () => this.undo(this.waiting.at(-1)) }[e.key]
    if (!act) return
    e.preventDefault()
    if (!e.repeat || (e.key !== 'a' && e.key !== 'r')) act() // a key that is held down decides once
  }

  /** Goes to another question. */
  move(by) {
    const all = this.questions
    const at = this.current ? all.indexOf(this.current) + by : by > 0 ? 0 : all.length - 1
    all[Math.min(Math.max(at, 0), all.length - 1)]?.focus()
  }

  /** The question that a key is for: the current one, or the only one. Without it, a key goes to the first. */
  get target() {
    const all = this.questions
    const at = this.current ?? (all.length === 1 ? all[0] : null)
    if (!at) this.move(1)
    return at && !('held' in at.dataset) ? at : null
  }

  /** Presses the button of a key. */
  press(key) {
    /** @type {HTMLElement | null | undefined} */ (this.target?.querySelector(`button[data-key=${key}]`))?.click()
  }

  edit() {
    const details = this.target?.querySelector('details[data-key=e]')
    if (!details) return
    details.open = true
    details.querySelector('form :is(textarea,input:not([type=hidden]),select)')?.focus()
  }

  /** Goes to the reason, or rejects where there is none. */
  reject() {
    const reason = /** @type {HTMLInputElement | null | undefined} */ (this.target?.querySelector('[name=message]'))
    if (reason) { // it is the main button while the reason is written
      const [yes, no] = ['a', 'r'].map((key) => reason.closest('form')?.querySelector(`button[data-key=${key}]`))
      const main = (rejects) => {
        yes?.classList.toggle('main', !rejects)
        no?.classList.toggle('main', rejects)
      }
      if (no) {
        reason.onfocus = () => main(true)
        reason.onblur = () => main(reason.value !== '')
      }
      reason.focus()
    } else this.press('r')
  }

  /** @param {SubmitEvent} e */
  submit(e) {
    const form = /** @type {HTMLFormElement} */ (e.target)
    const section = /** @type {HTMLElement | null} */ (form.closest('.question'))
    if (!section) return
    e.preventDefault()
    if ('held' in section.dataset) return
    const body = new URLSearchParams(/** @type {any} */ (new FormData(form)))
    const button = /** @type {HTMLButtonElement | null} */ (e.submitter)
    if (button?.name) body.set(button.name, button.value)
    const w = { section, form, body, name: button?.textContent ?? 'The answer', timer: undefined }
    section.dataset.held = '' // it stays as it is while the list changes
    this.waiting.push(w)
    const size = this.waiting.reduce((n, w) => n + w.body.toString().length, 0)
    if (!this.waits() || size > most || form.querySelector('[aria-invalid],.mistake')) { this.send(w); return }
    w.timer = setTimeout(() => this.send(w), this.moment)
    for (const f of section.querySelectorAll(forms)) f.toggleAttribute('hidden', true)
    const note = document.createElement('p')
    note.className = 'notice'
    note.setAttribute('role', 'status')
    const left = document.createElement('span')
    left.setAttribute('aria-live', 'off') // a screen reader reads the note once
    const until = performance.now() + this.moment
    const tick = () => { left.textContent = `${Math.max(0, Math.ceil((until - performance.now()) / 1000))} s` }
    const timer = setInterval(() => { if (note.contains(left) && note.isConnected) tick(); else clearInterval(timer) }, 250)
    note.append(`“${w.name}” is sent in `, left, '. ', act('Undo', () => this.undo(w)), ' ', act('Send now', () => this.send(w)))
    section.append(note)
    tick()
    section.focus()
  }

  /** Takes an answer back that was not sent. */
  undo(w) {
    if (!w || !this.waiting.includes(w)) return
    this.release(w)
    w.section.focus()
  }

  /** Makes a question as it was. */
  release(w) {
    clearTimeout(w.timer)
    this.waiting = this.waiting.filter((other) => other !== w)
    delete w.section.dataset.held
    w.section.querySelector(':scope > .notice')?.remove()
    for (const f of w.section.querySelectorAll(forms)) f.toggleAttribute('hidden', false)
  }

  /** Sends an answer. One of a page that is left is sent after it. */
  async send(w, leaves = false) {
    if (!this.waiting.includes(w)) return
    clearTimeout(w.timer)
    this.waiting = this.waiting.filter((other) => other !== w)
    w.section.querySelector(':scope > .notice')?.replaceChildren('It is being sent.')
    try {
      const answer = await fetch(w.form.action, { method: 'POST', body: w.body, headers: { 'X-Weft-Fetch': '1' }, redirect: 'manual', keepalive: leaves })
      if (answer.type === 'opaqueredirect') { // of a proxy that wants a login
        this.say('The answer was not sent: the server leads to another page. Reload this one. ', w.section)
        this.release(w)
        return
      }
      if (answer.status === 204) {
        this.say(`“${w.name}” is sent. `, w.section)
        this.remove(w)
        return
      }
      const page = new DOMParser().parseFromString(await answer.text(), 'text/html')
      const next = page.getElementById(w.section.id)
      if (next) { // with its mistakes
        w.section.replaceWith(document.adoptNode(next))
        document.getElementById(next.id)?.focus()
        next.dispatchEvent(new CustomEvent('weft-part', { bubbles: true }))
        return
      }
      this.say((page.querySelector('main p:not(#lost)')?.textContent ?? 'The answer was refused.') + ' ', w.section)
      if (answer.status === 409 && await closed(this.known.get(w.section.id)?.href)) this.remove(w) // and not if the thread is busy
      else this.release(w)
    } catch {
      this.say('The answer was not sent: the server cannot be reached. ', w.section)
      this.release(w)
    }
  }

  /** Removes a question that is answered, and goes to the one after it. */
  remove(w) {
    const all = this.questions
    const next = all[all.indexOf(w.section) + 1] ?? all[all.indexOf(w.section) - 1]
    if (this.current === w.section) next?.focus()
    this.known.delete(w.section.id)
    remove(w.section)
    refresh()
  }

  /** Reports what became of an answer, with a link to its thread. */
  say(text, section) {
    const link = section.querySelector('a')?.cloneNode(true)
    this.querySelector('.sent')?.replaceChildren(text, ...(link ? ['Thread ', link] : []))
  }
}

/**
 * What became of a question, by its page; nothing if it is open, or if the page cannot be fetched.
 * @param {string | null | undefined} href
 */
async function closed(href) {
  if (!href) return
  try {
    const page = new DOMParser().parseFromString(await (await fetch(href)).text(), 'text/html')
    return page.querySelector('#list .notice')?.textContent
  } catch {
    return // the list shows that the connection is lost
  }
}

/** The ids of the questions that this browser has shown, the newest last. */
function seenQuestions() {
  try {
    return /** @type {string[]} */ (JSON.parse(localStorage.getItem('weft-seen') ?? '[]'))
  } catch {
    return []
  }
}

/** A button that does something. */
function act(text, does) {
  const button = document.createElement('button')
  button.type = 'button'
  button.textContent = text
  button.onclick = does
  return button
}

customElements.define('weft-inbox', Inbox)
