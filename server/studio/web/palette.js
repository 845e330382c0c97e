// <weft-palette>: the commands of the keyboard.

class Palette extends HTMLElement {
  connectedCallback() {
    this.dialog = /** @type {HTMLDialogElement} */ (this.querySelector('dialog'))
    this.input = /** @type {HTMLInputElement} */ (this.querySelector('input'))
    this.list = /** @type {HTMLElement} */ (this.querySelector('ul'))
    addEventListener('keydown', (e) => this.key(e))
    this.input.addEventListener('input', () => this.show())
    this.dialog.addEventListener('keydown', (e) => {
      const links = [...this.list.querySelectorAll('a')]
      const at = links.indexOf(/** @type {HTMLAnchorElement} */ (document.activeElement))
      if (e.key === 'ArrowDown') links[Math.min(at + 1, links.length - 1)]?.focus()
      else if (e.key === 'ArrowUp') (links[at - 1] ?? this.input).focus()
      else if (e.key === 'Enter' && at < 0 && links.length) location.assign(links[0].href)
      else return
      e.preventDefault()
    })
  }

  /** @param {KeyboardEvent} e */
  key(e) {
    const typing = /** @type {Element} */ (e.target).closest?.('input,textarea,select,[contenteditable]')
    if ((e.ctrlKey || e.metaKey) && e.key === 'k' || !typing && e.key === '?' && !e.ctrlKey) {
      e.preventDefault()
      this.back = document.activeElement
      this.input.value = ''
      this.show()
      this.dialog.showModal()
      this.dialog.addEventListener('close', () => /** @type {HTMLElement} */ (this.back)?.focus(), { once: true })
      return
    }
    if (typing || e.ctrlKey || e.metaKey || e.altKey || this.dialog.open) return
    const go = this.dataset
    if (this.leader === 'g') {
      const page = { g: 'graphs', t: 'threads', i: 'inbox', e: 'editor', s: 'system', o: 'store', a: 'assistants', c: 'crons' }[e.key]
      this.leader = ''
      if (page) { location.assign(`${go.base}/${page}`); e.preventDefault() }
      return
    }
    if (e.key === 'g') this.leader = 'g'
    else if (e.key === '[') /** @type {HTMLElement} */ (document.querySelector('a[rel=prev]'))?.click()
    else if (e.key === ']') /** @type {HTMLElement} */ (document.querySelector('a[rel=next]'))?.click()
  }

  /** Lists the places and nodes whose names have the text. */
  show() {
    const text = this.input.value.trim().toLowerCase()
    const places = /** @type {[string, string][]} */ ([...document.querySelectorAll('nav.menu a')].map((a) => [a.getAttribute('data-name') ?? a.textContent, a.href]))
    for (const a of document.querySelectorAll('main a[href]')) {
      const name = a.textContent?.trim()
      if (name && !places.some(([, href]) => href === a.href)) places.push([name, a.href])
    }
    const found = places.filter(([name]) => name.toLowerCase().includes(text)).slice(0, 12)
    if (text.length > 2) found.push([`threads that begin with “${text}”`, `${this.dataset.base}/threads?prefix=${encodeURIComponent(text)}`])
    this.list.replaceChildren(...found.map(([name, href]) => {
      const item = document.createElement('li')
      const link = document.createElement('a')
      link.href = href
      link.textContent = name
      item.append(link)
      return item
    }))
  }
}

customElements.define('weft-palette', Palette)
