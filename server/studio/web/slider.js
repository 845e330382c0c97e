// <weft-slider>: the form of the steps, which goes to the step at once.
import { visit } from './refresh.js'

class Slider extends HTMLElement {
  connectedCallback() {
    this.addEventListener('input', (e) => {
      const range = /** @type {HTMLInputElement} */ (e.target)
      if (range.type !== 'range') return
      const label = this.querySelector('output')
      if (label) label.textContent = range.value
      clearTimeout(this.timer)
      this.timer = setTimeout(() => {
        const url = new URL(location.href)
        url.searchParams.set('at', range.value)
        url.searchParams.delete('from')
        visit(url.href)
      }, 80)
    })
    const button = this.querySelector('button')
    if (button) button.hidden = true
  }
}

customElements.define('weft-slider', Slider)
