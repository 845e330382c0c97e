// <weft-lists data-changes>: a page of lists that follows the threads.
import { coalesced } from './refresh.js'
import { follow } from './stream.js'

class Lists extends HTMLElement {
  connectedCallback() {
    const refresh = coalesced()
    let first = true
    this.end = follow({
      url: () => this.dataset.changes ?? '',
      on: { change: () => { if (!first) refresh(); first = false } },
      state: (lost) => { if (!lost) refresh() },
    })
    // After a download the page stays. Boxes that are ticked would keep the list as it is.
    document.addEventListener('submit', (e) => {
      if (!e.submitter?.getAttribute('formaction')?.endsWith('/export')) return
      const form = /** @type {HTMLFormElement} */ (e.target)
      setTimeout(() => { form.reset(); refresh() }) // once the boxes are in the request
    })
  }

  disconnectedCallback() { this.end?.() }
}

customElements.define('weft-lists', Lists)
