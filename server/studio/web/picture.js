// <weft-picture>: a picture of a graph that can be zoomed, and whose edges the arrow keys follow.

import { visit } from './refresh.js'

const steps = [0.3, 0.4, 0.5, 0.65, 0.8, 1, 1.25, 1.6, 2]

class Picture extends HTMLElement {
  connectedCallback() {
    this.zoom = Number(sessionStorage.getItem('weft-zoom')) || 1
    this.addEventListener('wheel', (e) => {
      if (!e.ctrlKey) return
      e.preventDefault()
      this.scale(e.deltaY < 0 ? 1 : -1)
    }, { passive: false })
    this.addEventListener('keydown', (e) => this.key(e))
    this.addEventListener('click', (e) => {
      const button = /** @type {Element} */ (e.target).closest('button[data-zoom]')
      if (button) this.scale(Number(button.getAttribute('data-zoom')))
    })
    this.addEventListener('click', (e) => this.inspect(/** @type {Element} */ (e.target).closest('.node')))
    this.apply()
    const region = this.querySelector('.scroll')
    if (region) region.scrollLeft = (region.scrollWidth - region.clientWidth) / 2 // the start is near the middle
  }

  /** Shows the tasks of a node of a run in the inspector. */
  inspect(node) {
    const name = node?.getAttribute('data-node')
    if (!name || !this.closest('weft-run') || node.parentNode?.closest('.node')) return
    const url = new URL(location.href)
    url.searchParams.set('tab', 'task')
    url.searchParams.set('node', name)
    visit(url.href)
  }

  /** @param {number} by 1 is larger, -1 smaller, 0 the size of the picture */
  scale(by) {
    let i = steps.findIndex((s) => s >= this.zoom)
    if (i < 0) i = steps.length - 1
    this.zoom = by === 0 ? 1 : steps[Math.max(0, Math.min(steps.length - 1, i + by))]
    sessionStorage.setItem('weft-zoom', String(this.zoom))
    this.apply()
  }

  apply() {
    const svg = this.querySelector('svg')
    if (!svg) return
    svg.style.width = this.zoom === 1 ? '' : `${Number(svg.getAttribute('width')) * this.zoom}px`
    svg.classList.toggle('small', this.zoom < 0.4)
  }

  /** @param {KeyboardEvent} e */
  key(e) {
    const node = /** @type {Element} */ (e.target).closest('.node')
    if (e.ctrlKey || e.metaKey || e.altKey) return
    if (e.key === '+' || e.key === '=') this.scale(1)
    else if (e.key === '-') this.scale(-1)
    else if (e.key === '0') this.scale(0)
    else if (node && e.key === 'Enter' && this.closest('weft-run')) this.inspect(node) // others are links
    else if (node && e.key.startsWith('Arrow')) this.step(node, e.key)
    else return
    e.preventDefault()
  }

  /** Focuses the nearest node in a direction. */
  step(node, key) {
    const from = node.getBoundingClientRect()
    const [dx, dy] = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] }[key]
    let best
    let least = Infinity
    for (const other of this.querySelectorAll('.node')) {
      const to = other.getBoundingClientRect()
      const x = to.x + to.width / 2 - from.x - from.width / 2
      const y = to.y + to.height / 2 - from.y - from.height / 2
      const along = x * dx + y * dy
      const distance = along + 2 * Math.abs(x * dy + y * dx)
      if (other !== node && along > 2 && distance < least) { best = other; least = distance }
    }
    if (best) /** @type {SVGElement} */ (best).focus()
  }
}

customElements.define('weft-picture', Picture)
