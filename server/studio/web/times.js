// <weft-times>: the chart of the times, in which a part is chosen with the pointer, the wheel or the
// keys + - 0.
import { visit } from './refresh.js'

/** The least time that the chart shows, in ms. */
const least = 2

/** For how long after a turn of the wheel another one belongs to it, in ms. */
const gesture = 1000

let turned = -gesture

class Times extends HTMLElement {
  connectedCallback() {
    this.addEventListener('wheel', (e) => {
      if (!e.ctrlKey) return
      e.preventDefault()
      const again = e.timeStamp - turned < gesture
      turned = e.timeStamp
      this.zoom(e.deltaY < 0 ? 0.5 : 2, this.pixel(e.clientX), again)
    }, { passive: false })
    this.addEventListener('keydown', (e) => {
      if (e.ctrlKey || e.metaKey || e.altKey) return
      const by = { '+': 0.5, '=': 0.5, '-': 2, 0: Infinity }[e.key]
      if (!by) return
      e.preventDefault()
      const marks = this.marks
      this.zoom(by, (marks[0]?.[0] + marks[marks.length - 1]?.[0]) / 2)
    })
    this.addEventListener('pointerdown', (e) => this.brush(e))
  }

  get svg() { return this.querySelector('svg') }

  /** Pixels of the chart and their times, between which the time is linear. */
  get marks() {
    const text = this.svg?.dataset.times
    return text ? text.split(' ').map((mark) => mark.split(':').map(Number)) : []
  }

  /** The times that are shown. */
  get range() {
    const marks = this.marks
    return marks.length > 1 ? [marks[0][1], marks[marks.length - 1][1]] : undefined
  }

  /** The pixel of the chart at a place of the window. */
  pixel(clientX) {
    const svg = this.svg
    if (!svg) return 0
    const box = svg.getBoundingClientRect()
    return (clientX - box.x) * svg.viewBox.baseVal.width / box.width
  }

  /** The time of a pixel. */
  time(x) {
    const marks = this.marks
    let i = marks.findIndex(([at]) => at > x)
    if (i < 0) i = marks.length - 1
    const [[x0, t0], [x1, t1]] = [marks[Math.max(0, i - 1)], marks[Math.max(1, i)]]
    return t0 + (t1 - t0) * Math.min(1, Math.max(0, (x - x0) / ((x1 - x0) || 1)))
  }

  /**
   * Shows a multiple of the times around a pixel; Infinity is all.
   * @param {number} by
   * @param {number} x
   * @param {boolean} [again] whether it belongs to the change before
   */
  zoom(by, x, again = false) {
    if (this.busy) return
    const whole = !new URL(location.href).searchParams.has('times')
    if (by === Infinity || by > 1 && whole) { this.show(undefined, undefined, again); return }
    const marks = this.marks
    if (marks.length < 2) return
    const [[x0, t0], [x1, t1]] = [marks[0], marks[marks.length - 1]]
    const at = this.time(x)
    if (by > 1) this.show(at - (at - t0) * by, at + (t1 - at) * by, again)
    else this.show(this.time(x - (x - x0) * by), this.time(x + (x1 - x) * by), again)
  }

  /** Shows the times between two, or all. */
  async show(from, to, again = false) {
    const url = new URL(location.href)
    if (from === undefined) {
      if (!url.searchParams.has('times')) return
      url.searchParams.delete('times')
    } else {
      const first = Math.floor(from)
      url.searchParams.set('times', `${first}-${Math.max(first + least, Math.ceil(to))}`)
    }
    this.busy = true
    await visit(url.href, again, false)
    this.busy = false
  }

  /** Chooses a part by pulling the pointer over it. */
  brush(e) {
    const svg = this.svg
    if (!svg || e.button !== 0 || e.pointerType === 'touch' || this.busy) return
    this.dataset.held = '' // the chart stays as it is meanwhile
    const first = e.clientX
    const chosen = document.createElementNS('http://www.w3.org/2000/svg', 'rect')
    chosen.setAttribute('class', 'chosen')
    chosen.setAttribute('height', String(svg.viewBox.baseVal.height))
    const move = (/** @type {PointerEvent} */ m) => {
      const [left, right] = [this.pixel(Math.min(first, m.clientX)), this.pixel(Math.max(first, m.clientX))]
      chosen.setAttribute('x', String(left))
      chosen.setAttribute('width', String(right - left))
      if (!chosen.isConnected) svg.append(chosen)
    }
    const end = (/** @type {PointerEvent} */ m) => {
      removeEventListener('pointermove', move)
      removeEventListener('pointerup', end)
      removeEventListener('pointercancel', end)
      chosen.remove()
      delete this.dataset.held
      if (m.type !== 'pointerup' || Math.abs(m.clientX - first) <= 5) return
      this.show(this.time(this.pixel(Math.min(first, m.clientX))), this.time(this.pixel(Math.max(first, m.clientX))))
    }
    addEventListener('pointermove', move)
    addEventListener('pointerup', end)
    addEventListener('pointercancel', end)
    e.preventDefault()
  }
}

customElements.define('weft-times', Times)
