// <weft-form data-input>: the form of an input, beside which the same input is as JSON. The server
// reads either, and answers with the other and with the mistakes.

class Form extends HTMLElement {
  connectedCallback() {
    const [fields, raw] = /** @type {HTMLFormElement[]} */ ([...this.querySelectorAll('form')])
    if (!raw) return
    const check = (from) => {
      clearTimeout(this.timer)
      this.number = (this.number ?? 0) + 1 // an answer under way must not undo what is typed
      this.timer = setTimeout(() => this.check(fields, raw, from), 120)
    }
    fields.addEventListener('input', () => check(fields))
    raw.addEventListener('input', () => check(raw))
    const typed = [...fields.elements].some((e) => 'defaultValue' in e && e.value !== e.defaultValue)
    if (typed) check(fields) // before this script was there
    else this.fill(fields, raw)
  }

  async fill(fields, raw) { await this.check(fields, raw, raw, true) }

  async check(fields, raw, from, quiet = false) {
    const mine = this.number = (this.number ?? 0) + 1
    let checked
    try {
      const answer = await fetch(this.dataset.input ?? '', { method: 'POST', body: new URLSearchParams(/** @type {any} */ (new FormData(from))) })
      if (!answer.ok) return
      checked = await answer.json()
    } catch {
      return
    }
    if (mine !== this.number) return
    if (from === fields) raw.elements.namedItem('raw').value = checked.raw
    for (const [name, text] of Object.entries(checked.fields)) {
      const input = fields.elements.namedItem(name)
      if (!input) continue
      if (from === raw && !checked.mistake && input.value !== text) input.value = text
      this.tell(input, quiet || from === raw ? '' : checked.mistakes[name] ?? '')
    }
    this.tell(raw.elements.namedItem('raw'), from === raw && !quiet ? checked.mistake ?? '' : '')
  }

  /** Shows a mistake at its input. */
  tell(input, text) {
    const id = (input.id || 'raw-input') + '-mistake'
    let note = document.getElementById(id)
    if (!text) {
      note?.remove()
      input.removeAttribute('aria-invalid')
      return
    }
    if (!note) {
      note = document.createElement('span')
      note.id = id
      note.className = 'mistake'
      input.after(note)
    }
    note.textContent = text
    input.setAttribute('aria-invalid', 'true')
    input.setAttribute('aria-describedby', id)
  }
}

customElements.define('weft-form', Form)
