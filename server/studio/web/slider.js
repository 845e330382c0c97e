// <weft-slider>: the form of the steps, which goes to the step at once.
import { visit } from './refresh.js'

/** Where to go next while a step is being fetched; '' for nowhere. */
let next = ''
let busy = false
let moving = false // the history has one entry for all steps of a move
let ended = false

/**
 * Goes to a step, or after the one under way to the last that was asked for.
 * @param {string} at
 */
async function go(at) {
  next = at
  if (busy) return
  busy = true
  while (next) {
    const url = new URL(location.href)
    url.searchParams.set('at', next)
    url.searchParams.delete('from')
    next = ''
    const replace = moving
    moving = true
    await visit(url.href, replace)
  }
  busy = false
  if (ended) moving = ended = false
}

class Slider extends HTMLElement {
  connectedCallback() {
    this.addEventListener('input', (e) => {
      const range = /** @type {HTMLInputElement} */ (e.target)
      if (range.type !== 'range') return
      const label = this.querySelector('output')
      if (label) label.textContent = range.value
      go(range.value)
    })
    this.addEventListener('change', (e) => {
      const range = /** @type {HTMLInputElement} */ (e.target)
      if (range.type !== 'range') return
      ended = true
      go(range.value) // once more, for the links around the slider
    })
    const button = this.querySelector('button')
    if (button) button.hidden = true
  }
}

customElements.define('weft-slider', Slider)
