// <weft-editor data-path data-tag data-action>: the text of a workflow, coloured, with its mistakes
// at their places, and its picture beside it. The server checks the text and renders what it found.

import { Choices } from './choices.js'

/** How long, in ms, the text must stay as it is until it is checked. */
const quiet = 120

/** Within how many ms a form that was sent has its answer. */
const answered = 30000

/** How many lines are coloured. */
const maxLines = 20000

class Editor extends HTMLElement {
  connectedCallback() {
    const form = this.form = /** @type {HTMLFormElement} */ (this.querySelector('form.edit'))
    const text = this.text = /** @type {HTMLTextAreaElement} */ (this.querySelector('#text'))
    this.restore()
    const code = /** @type {HTMLElement} */ (text.parentElement)
    this.gutter = document.createElement('div')
    this.gutter.className = 'gutter'
    this.under = document.createElement('div')
    this.under.className = 'under'
    this.gutter.setAttribute('aria-hidden', 'true')
    this.under.setAttribute('aria-hidden', 'true')
    code.classList.add('lit')
    code.prepend(this.gutter, this.under)
    /** @type {string[]} the lines as they are coloured */
    this.lines = []
    this.choices = new Choices(text, code, { api: this.dataset.action?.replace(/\/editor$/, '/api/complete') ?? '', path: this.dataset.path ?? '', word: /** @type {HTMLElement} */ (this.querySelector('#word')) })
    text.addEventListener('input', () => this.changed())
    text.addEventListener('scroll', () => this.scrolled())
    text.addEventListener('keydown', (e) => this.key(e))
    document.addEventListener('selectionchange', () => { if (document.activeElement === text) this.here() })
    form.addEventListener('submit', () => {
      this.leaving = true
      const { selectionStart: start, selectionEnd: end, scrollTop: top, scrollLeft: left } = text
      const key = this.keyOf(/** @type {HTMLInputElement} */ (form.elements.namedItem('path')).value)
      try { sessionStorage.setItem('weft-place', JSON.stringify({ key, time: Date.now(), start, end, top, left, page: scrollY })) } catch { /* the browser has no room */ }
    })
    this.addEventListener('click', (e) => {
      const fix = /** @type {HTMLButtonElement | null} */ (/** @type {Element} */ (e.target).closest('button.fix'))
      if (fix) { e.preventDefault(); this.fix(fix.value) }
      const place = /** @type {Element} */ (e.target).closest('a[data-line]')
      const node = /** @type {Element} */ (e.target).closest('.node')
      if (place) {
        e.preventDefault()
        this.go(Number(place.getAttribute('data-line')), Number(place.getAttribute('data-col')))
      } else if (node) this.goTo(node.getAttribute('data-node') ?? '')
    })
    addEventListener('hashchange', () => this.hash())
    this.paint()
    this.place()
    this.hash()
    if (text.value !== text.defaultValue) this.check() // it was typed before, or is that of an earlier visit
  }

  /** The place where unsaved work is kept. */
  get key0() { return this.keyOf(this.dataset.path ?? '') }

  /** @param {string} path of a file */
  keyOf(path) { return 'weft-text ' + (this.dataset.action ?? '') + ' ' + path }

  /** Goes back to where the cursor was when the form was sent: the answer is another page. One that
   * has an alert shows that first. */
  place() {
    let at
    try { at = JSON.parse(sessionStorage.getItem('weft-place') ?? 'null') } catch { return }
    sessionStorage.removeItem('weft-place')
    if (at?.key !== this.key0 || Date.now() - at.time > answered) return
    const alerts = document.querySelector('main [role=alert]:not([hidden])') !== null
    if (!alerts) this.text.focus({ preventScroll: true })
    this.text.setSelectionRange(at.start, at.end)
    this.text.scrollTo(at.left, at.top)
    this.scrolled()
    if (!alerts) scrollTo(scrollX, at.page)
  }

  restore() {
    let kept
    try { kept = JSON.parse(localStorage.getItem(this.key0) ?? 'null') } catch { kept = null }
    if (this.text.value !== this.text.defaultValue) return // it was typed before this script came
    if (!kept || kept.tag !== this.dataset.tag || kept.text === this.text.value || new URL(location.href).searchParams.has('saved')) {
      if (kept && new URL(location.href).searchParams.has('saved')) localStorage.removeItem(this.key0)
      return
    }
    const note = document.createElement('p')
    note.className = 'notice'
    note.textContent = 'Work that was not saved is shown. '
    const drop = document.createElement('button')
    drop.type = 'button'
    drop.textContent = 'Show the file as it is'
    const file = this.text.value
    drop.onclick = () => { localStorage.removeItem(this.key0); note.remove(); this.text.value = file; this.paint(); this.check() }
    note.append(drop)
    this.prepend(note)
    this.text.value = kept.text
    this.restored = true
  }

  changed() {
    this.paint()
    try { localStorage.setItem(this.key0, JSON.stringify({ tag: this.dataset.tag, text: this.text.value })) } catch { /* the browser has no room */ }
    clearTimeout(this.timer)
    this.timer = setTimeout(() => this.check(), quiet)
  }

  /** Sends the text to be checked, and shows what was found. */
  async check() {
    const mine = this.number = (this.number ?? 0) + 1
    const form = new FormData(this.form)
    form.set('act', 'check')
    form.set('only', '1')
    let page
    try {
      const answer = await fetch(this.form.action, { method: 'POST', body: new URLSearchParams(/** @type {any} */ (form)) })
      if (!answer.ok) return
      page = new DOMParser().parseFromString(await answer.text(), 'text/html')
    } catch {
      return
    }
    if (mine !== this.number || this.leaving) return
    for (const id of ['found', 'drawn', 'tested']) {
      const [now, next] = [document.getElementById(id), page.getElementById(id)]
      if (!now || !next) continue
      if (id === 'drawn' && next.hasAttribute('data-empty') && !now.hasAttribute('data-empty')) {
        now.classList.add('stale') // the last picture stays
        continue
      }
      if (now.outerHTML !== next.outerHTML) now.replaceWith(document.adoptNode(next))
    }
    this.mark()
    this.here()
  }

  /** Colours the lines that differ. */
  paint() {
    const lines = this.text.value.split('\n').slice(0, maxLines)
    const old = this.lines
    let from = 0
    while (from < lines.length && from < old.length && lines[from] === old[from]) from++
    let [end, oldEnd] = [lines.length, old.length]
    while (end > from && oldEnd > from && lines[end - 1] === old[oldEnd - 1]) { end--; oldEnd-- }
    for (let i = oldEnd - 1; i >= from; i--) this.under.children[i].remove()
    const added = document.createDocumentFragment()
    for (let i = from; i < end; i++) added.append(coloured(lines[i]))
    this.under.insertBefore(added, this.under.children[from] ?? null)
    while (this.gutter.children.length < lines.length) {
      const number = document.createElement('div')
      number.textContent = String(this.gutter.children.length + 1)
      this.gutter.append(number)
    }
    while (this.gutter.children.length > lines.length) this.gutter.lastElementChild?.remove()
    this.lines = lines
    this.mark()
    this.scrolled()
  }

  scrolled() {
    this.gutter.scrollTop = this.under.scrollTop = this.text.scrollTop
    this.under.scrollLeft = this.text.scrollLeft
  }

  /** Marks the mistakes that were found last. */
  mark() {
    for (const e of this.gutter.querySelectorAll('.bad,.warned')) { e.className = ''; e.removeAttribute('title') }
    for (const e of this.under.querySelectorAll('.marked')) e.replaceWith(coloured(e.textContent ?? ''))
    let places
    try { places = JSON.parse(document.getElementById('found')?.dataset.places ?? '[]') } catch { return }
    for (const p of places) {
      const [number, line] = [this.gutter.children[p.Line - 1], this.under.children[p.Line - 1]]
      if (!number || !line) continue
      const kind = p.Warning ? 'warned' : 'bad'
      number.className = kind
      number.setAttribute('title', p.Text)
      if (line.classList.contains('marked')) continue // the first mistake of a line is underlined
      const all = [...(line.textContent ?? '')]
      const from = Math.min(p.Col - 1, Math.max(0, all.length - 1))
      const bad = document.createElement('span')
      bad.className = kind
      bad.textContent = all.slice(from, from + p.Width).join('') || ' '
      const now = document.createElement('div')
      now.className = 'marked'
      now.append(all.slice(0, from).join(''), bad, all.slice(from + p.Width).join(''))
      line.replaceWith(now)
    }
  }

  /** Writes what a mistake has in place of a word: "line:column:width:text". */
  fix(value) {
    const [, line, col, width, text] = /^(\d+):(\d+):(\d+):(.*)$/s.exec(value) ?? []
    const [from, to] = [Number(col), Number(col) + Number(width)].map((at) => offset(this.text.value.split('\n'), Number(line), at))
    this.text.setRangeText(text, from, to, 'end')
    this.changed()
    this.text.focus()
  }

  /** Moves the cursor to a place. */
  go(line, col) {
    const lines = this.text.value.split('\n')
    line = Math.min(Math.max(line, 1), lines.length)
    const start = offset(lines, line, col)
    this.text.focus()
    this.text.setSelectionRange(start, start)
    const height = this.text.scrollHeight / lines.length
    this.text.scrollTop = Math.max(0, (line - 6) * height)
    history.replaceState(null, '', '#L' + line)
  }

  hash() {
    const found = /^#L(\d+)$/.exec(location.hash)
    if (found) this.go(Number(found[1]), 1)
    const node = /^#node=([\w-]+)$/.exec(location.hash) // of the picture of a graph
    if (node) this.goTo(node[1])
  }

  /** The lines at which nodes begin, by their names. The first one has the indentation of all. */
  get nodes() {
    const nodes = new Map()
    let inside = false
    let indent = ''
    this.text.value.split('\n').forEach((line, i) => {
      if (/^[^\s#]/.test(line)) {
        inside = /^nodes\s*:/.test(line)
        indent = ''
      }
      const found = inside && /^( +)(?:"([^"]+)"|'([^']+)'|([^\s#:][^:]*)):/.exec(line)
      if (!found || found[1] !== (indent ||= found[1])) return
      nodes.set(found[2] ?? found[3] ?? found[4], i + 1)
    })
    return nodes
  }

  goTo(node) {
    const line = this.nodes.get(node) ?? this.nodes.get(node.replace(/\.(each|run|next)$/, ''))
    if (line) this.go(line, 1 + this.text.value.split('\n')[line - 1].search(/\S/))
  }

  /** Marks the node in whose lines the cursor is. */
  here() {
    const at = this.text.value.slice(0, this.text.selectionStart).split('\n').length
    let name = ''
    for (const [node, line] of this.nodes) if (line <= at) name = node
    for (const node of this.querySelectorAll('.node')) node.classList.toggle('here', node.getAttribute('data-node') === name)
  }

  /** @param {KeyboardEvent} e */
  key(e) {
    if (this.choices.key(e)) return
    if ((e.ctrlKey || e.metaKey) && e.key === 's') {
      e.preventDefault()
      const save = /** @type {HTMLButtonElement | null} */ (this.form.querySelector('button[value=save]'))
      if (save) this.form.requestSubmit(save)
    }
    if (e.key === 'Enter' && !e.ctrlKey && !e.metaKey && !e.shiftKey) { // the next line begins where this one does
      const before = this.text.value.slice(0, this.text.selectionStart)
      const indent = /^ */.exec(before.slice(before.lastIndexOf('\n') + 1))?.[0] ?? ''
      if (!indent) return
      e.preventDefault()
      this.text.setRangeText('\n' + indent, this.text.selectionStart, this.text.selectionEnd, 'end')
      this.changed()
    }
  }
}

/** The place of a line and a column, which counts characters. */
function offset(lines, line, col) {
  return lines.slice(0, line - 1).reduce((n, l) => n + l.length + 1, 0) + [...lines[line - 1]].slice(0, col - 1).join('').length
}

/** @type {[string, RegExp][]} what is coloured in a line, and how it begins */
const rules = [['remark', /^#.*/], ['insert', /^\$\{[^}]*\}+/], ['insert', /^"(?:[^"\\]|\\.)*"|^'(?:[^']|'')*'/], ['key', /^[\w.-]+(?=\s*:(?:\s|$))/]]

/** A line with its colours. */
function coloured(line) {
  const box = document.createElement('div')
  let plain = ''
  const flush = () => { if (plain) box.append(plain); plain = '' }
  for (let i = 0; i < line.length;) {
    const rest = line.slice(i)
    const starts = i === 0 || /[\s{[(,:"'-]/.test(line[i - 1])
    const rule = starts && rules.find(([kind, at]) => (kind !== 'remark' || i === 0 || /\s/.test(line[i - 1])) && at.test(rest))
    if (!rule) { plain += line[i++]; continue }
    flush()
    const span = document.createElement('span')
    span.className = rule[0]
    span.textContent = /** @type {RegExpExecArray} */ (rule[1].exec(rest))[0]
    box.append(span)
    i += span.textContent.length
  }
  flush()
  return box
}

customElements.define('weft-editor', Editor)
