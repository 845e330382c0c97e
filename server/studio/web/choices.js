// The words that may be written at the cursor of a text of YAML, which the server knows.

/** How long, in ms, the cursor must rest until the server is asked. */
const quiet = 80

export class Choices {
  /**
   * @param {HTMLTextAreaElement} text
   * @param {HTMLElement} box which has the text, and gets the list
   * @param {{api: string, path: string, word: HTMLElement}} options word is where the word at the cursor is described
   */
  constructor(text, box, { api, path, word }) {
    Object.assign(this, { text, box, api, path, word })
    this.number = 0
    this.list = document.createElement('ul')
    this.list.id = 'choices'
    this.list.className = 'offers'
    this.list.setAttribute('role', 'listbox')
    this.list.setAttribute('aria-label', 'What may be written here')
    this.list.tabIndex = 0 // it scrolls
    this.list.hidden = true
    box.append(this.list)
    text.setAttribute('aria-autocomplete', 'list')
    text.setAttribute('aria-controls', 'choices')
    text.addEventListener('input', (e) => {
      const typed = /** @type {InputEvent} */ (e).data ?? ''
      this.ask(/[\w.]/.test(typed) || typed !== '' && !this.list.hidden)
    })
    document.addEventListener('selectionchange', () => { if (document.activeElement === text) this.ask(this.opens || !this.list.hidden) })
    text.addEventListener('blur', () => this.close())
    text.addEventListener('scroll', () => this.close())
    addEventListener('resize', () => this.close())
    text.addEventListener('mousemove', (e) => this.hover(e))
    this.list.addEventListener('mousedown', (e) => {
      const item = /** @type {Element} */ (e.target).closest('li')
      e.preventDefault() // the text keeps the focus
      if (item) this.take([...this.list.children].indexOf(item))
    })
  }

  /** The line and the column of the cursor, from 1. */
  get place() {
    const before = this.text.value.slice(0, this.text.selectionStart).split('\n')
    return { line: before.length, col: [...before[before.length - 1]].length + 1 }
  }

  /** The size of a character, in pixels. */
  get cell() {
    const line = /** @type {HTMLElement} */ (this.box.querySelector('.under > div'))
    const style = getComputedStyle(this.text)
    this.pen ??= document.createElement('canvas').getContext('2d')
    if (!this.pen) return { width: 8, height: line.offsetHeight }
    this.pen.font = `${style.fontSize} ${style.fontFamily}`
    return { width: this.pen.measureText('0').width, height: line.offsetHeight }
  }

  /** Asks what may be written at the cursor, and opens the list if open is true. */
  ask(open) {
    clearTimeout(this.timer)
    if (!open) this.close()
    this.opens = open
    this.timer = setTimeout(async () => {
      this.opens = false
      const mine = ++this.number
      const at = this.place
      const found = await this.fetch(at)
      if (!found || mine !== this.number || document.activeElement !== this.text) return
      this.word.textContent = found.about
      this.word.hidden = !found.about
      if (open) this.show(found, at)
    }, quiet)
  }

  async fetch({ line, col }) {
    try {
      const answer = await fetch(this.api, { method: 'POST', body: JSON.stringify({ path: this.path, yaml: this.text.value, line, col }) })
      return answer.ok ? await answer.json() : null
    } catch {
      return null
    }
  }

  show(found, at) {
    const [from, to] = [found.from, found.to].map((col) => this.offset(at.line, col))
    const written = this.text.value.slice(from, this.text.selectionStart)
    const choices = found.choices.filter((c) => c.text !== written)
    if (!choices.length) { this.close(); return }
    Object.assign(this, { from, to, choices })
    this.list.replaceChildren(...choices.map((c, i) => {
      const item = document.createElement('li')
      item.id = `choice-${i}`
      item.setAttribute('role', 'option')
      const name = document.createElement('b')
      name.textContent = c.text
      item.append(name, ` ${c.about}`)
      return item
    }))
    const { width, height } = this.cell
    const left = this.text.offsetLeft + 8 + (found.from - 1) * width - this.text.scrollLeft
    this.list.hidden = false
    this.list.style.left = `${Math.max(0, Math.min(left, this.box.clientWidth - this.list.offsetWidth))}px`
    const top = 8 + at.line * height - this.text.scrollTop
    this.list.style.top = `${top + this.list.offsetHeight > this.box.clientHeight ? Math.max(0, top - height - this.list.offsetHeight) : top}px`
    this.select(0)
  }

  offset(line, col) {
    const lines = this.text.value.split('\n')
    return lines.slice(0, line - 1).reduce((n, l) => n + l.length + 1, 0) + [...lines[line - 1]].slice(0, col - 1).join('').length
  }

  select(at) {
    const items = this.list.children
    this.selected = (at + items.length) % items.length
    for (const [i, item] of [...items].entries()) item.setAttribute('aria-selected', String(i === this.selected))
    items[this.selected].scrollIntoView({ block: 'nearest' })
    this.text.setAttribute('aria-activedescendant', `choice-${this.selected}`)
  }

  close() {
    this.number++
    this.list.hidden = true
    this.text.removeAttribute('aria-activedescendant')
  }

  /** Writes a choice in place of the word. */
  take(at) {
    const choice = this.choices[at]
    this.close()
    this.text.setRangeText(choice.write, this.from, this.to, 'end')
    this.text.dispatchEvent(new Event('input', { bubbles: true }))
  }

  /**
   * Takes a key that belongs to the list.
   * @param {KeyboardEvent} e
   */
  key(e) {
    if (e.ctrlKey && e.key === ' ') {
      e.preventDefault()
      this.ask(true)
      return true
    }
    if (this.list.hidden || e.ctrlKey || e.metaKey || e.altKey) return false
    const act = { ArrowDown: () => this.select(this.selected + 1), ArrowUp: () => this.select(this.selected - 1), Enter: () => this.take(this.selected), Tab: () => this.take(this.selected), Escape: () => this.close() }[e.key]
    if (!act || e.shiftKey) return false
    e.preventDefault()
    act()
    return true
  }

  /** Describes the word under the pointer once it rests. */
  hover(e) {
    clearTimeout(this.rest)
    this.text.title = ''
    this.rest = setTimeout(async () => {
      const { width, height } = this.cell
      const line = Math.floor((e.offsetY - 8 + this.text.scrollTop) / height) + 1
      const col = Math.floor((e.offsetX - 8 + this.text.scrollLeft) / width) + 1
      const text = this.text.value.split('\n')[line - 1]
      if (text === undefined || col < 1 || col > text.length || document.activeElement !== this.text) return
      this.text.title = (await this.fetch({ line, col }))?.about ?? ''
    }, 300)
  }
}
