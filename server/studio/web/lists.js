// <weft-lists data-changes>: a page of lists that follows the threads.
import { coalesced } from './refresh.js'
import { count, follow } from './stream.js'

class Lists extends HTMLElement {
  connectedCallback() {
    const refresh = coalesced()
    this.end = follow({
      url: () => this.dataset.changes ?? '',
      on: { change: (n) => { count(n); refresh() } }, // the first is for what has changed since the page was made
      state: (lost) => { if (!lost) refresh() },
    })
    document.addEventListener('change', (e) => pick(/** @type {HTMLInputElement} */ (e.target)))
    // After a download the page stays. Boxes that are ticked would keep the list as it is.
    document.addEventListener('submit', (e) => {
      if (!e.submitter?.getAttribute('formaction')?.endsWith('/export')) return
      const form = /** @type {HTMLFormElement} */ (e.target)
      setTimeout(() => { form.reset(); pick(form.elements[0]); refresh() }) // once the boxes are in the request
    })
  }

  disconnectedCallback() { this.end?.() }
}

/** Ticks all boxes of a page, or keeps the box of all as the others are. */
function pick(box) {
  const form = box.form
  const all = /** @type {HTMLInputElement | null | undefined} */ (form?.querySelector('input[data-all]'))
  if (!form || !all) return
  const boxes = /** @type {HTMLInputElement[]} */ ([...form.querySelectorAll(`input[name="${all.dataset.all}"]`)])
  if (box === all) for (const b of boxes) b.checked = all.checked
  const ticked = boxes.filter((b) => b.checked).length
  all.checked = ticked === boxes.length
  all.indeterminate = ticked > 0 && !all.checked
}

customElements.define('weft-lists', Lists)
