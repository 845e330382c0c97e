// <weft-form data-input>: the form of a value, which has the same value as JSON beside its fields. The
// server reads either, and answers with the other and with the mistakes. With data-filled the server
// has filled both, and fields that are changed are marked.
import { differs } from './refresh.js'

/** Whether an input is a field of the value that is also there as JSON, and not a setting. */
const isOfValue = (name) => name.includes(':') && !name.startsWith('set:')

class Form extends HTMLElement {
  connectedCallback() {
    const form = this.querySelector('form')
    if (!form) return
    this.raw = /** @type {HTMLTextAreaElement | null} */ (form.elements.namedItem('raw'))
    const filled = 'filled' in this.dataset
    this.from = 'fields'
    form.addEventListener('input', (e) => {
      const input = /** @type {HTMLInputElement} */ (e.target)
      if (input === this.raw) this.from = 'json'
      else if (isOfValue(input.name)) this.from = 'fields' // a setting leaves it as it is
      clearTimeout(this.timer)
      this.number = (this.number ?? 0) + 1 // an answer under way must not undo what is typed
      this.timer = setTimeout(() => this.check(form, this.from), 120)
      if (filled) this.mark(form)
    })
    form.addEventListener('keydown', (e) => {
      const text = /** @type {HTMLTextAreaElement} */ (e.target)
      if (e.key !== 'Enter' || e.shiftKey || e.altKey || e.ctrlKey || e.metaKey || e.isComposing || !text.matches('textarea[rows="1"]:not([spellcheck])') || text.value.includes('\n')) return
      e.preventDefault() // a line of its own is written with Shift
      form.requestSubmit(form.querySelector('button.main'))
    })
    const typed = [...form.elements].some((e) => 'defaultValue' in e && e.type !== 'hidden' && e.value !== e.defaultValue)
    if (typed) this.check(form, this.raw && this.raw.value !== this.raw.defaultValue ? 'json' : 'fields') // before this script was there
    else if (!filled) this.check(form, 'json', true)
  }

  async check(form, from, quiet = false) {
    const mine = this.number = (this.number ?? 0) + 1
    let checked
    try {
      const body = new URLSearchParams(/** @type {any} */ (new FormData(form)))
      body.set('from', from)
      const answer = await fetch(this.dataset.input ?? '', { method: 'POST', body })
      if (!answer.ok) return
      checked = await answer.json()
    } catch {
      return
    }
    if (mine !== this.number) return
    const raw = this.raw
    // Where the fields are as the server has filled them, the JSON is so, too, in every character.
    if (raw && from === 'fields') raw.value = 'filled' in this.dataset && ![...form.elements].some((e) => isOfValue(e.name ?? '') && differs(e)) ? raw.defaultValue : checked.raw
    for (const [name, text] of Object.entries(checked.fields)) {
      const input = form.elements.namedItem(name)
      if (!input) continue
      if (from === 'json' && !checked.mistake && input.value !== text) input.value = text
      if (!quiet) this.tell(input, from === 'json' && isOfValue(name) ? '' : checked.mistakes[name] ?? '')
    }
    if (!quiet) { // else the mistakes that the server has shown stay
      const mistake = checked.mistake ?? ''
      if (raw) this.tell(raw, from === 'json' ? mistake : '')
      this.refuse(form, from === 'fields' ? mistake : '')
    }
    /** @type {any} */ (this.querySelector('weft-copy'))?.show(checked.command)
    if ('filled' in this.dataset) this.mark(form)
  }

  /** Marks the fields that differ from what the server has sent. */
  mark(form) {
    for (const input of form.elements) {
      const box = input.name?.includes(':') && input.closest('.fields')
      if (!box) continue
      let note = box.querySelector('.changed')
      if (!differs(input)) { note?.remove(); continue }
      if (note) continue
      note = document.createElement('span')
      note.className = 'changed'
      note.textContent = ' changed'
      box.querySelector('label')?.append(note)
    }
  }

  /** Shows a mistake of the whole value above the buttons. */
  refuse(form, text) {
    let note = form.querySelector('p.mistake')
    if (!text) { note?.remove(); return }
    if (!note) {
      note = document.createElement('p')
      note.className = 'mistake'
      note.setAttribute('role', 'status')
      form.querySelector('.buttons')?.before(note)
    }
    note.textContent = text
  }

  /** Shows a mistake at its input. */
  tell(input, text) {
    const id = input.id + '-mistake'
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
