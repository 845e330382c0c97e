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
  }

  disconnectedCallback() { this.end?.() }
}

customElements.define('weft-lists', Lists)
