// <weft-run data-events data-position>: a page of a thread that follows its run.
import { coalesced, stale } from './refresh.js'
import { count, follow } from './stream.js'

/** What people read for a state. The server's words are in internal/picture. */
const words = { running: 'running', waiting: 'waits for a limit', done: 'finished', failed: 'failed', retrying: 'waits for its next attempt', asking: 'waits for a person', cached: 'from the cache' }
const order = ['running', 'retrying', 'asking', 'failed', 'waiting', 'done', 'cached']

/** How long a node stays marked as running at least, in ms. */
const flash = 150

class Run extends HTMLElement {
  connectedCallback() {
    this.position = Number(this.dataset.position)
    this.refresh = coalesced()
    /** @type {Map<string, Map<string, string>>} the states of the tasks of the step, by node */
    this.tasks = new Map()
    /** @type {Map<string, number | undefined>} when a node was first marked as running; undefined until it is */
    this.began = new Map()
    /** @type {Set<string>} the nodes of steps that have ended, whose marks are not yet shown */
    this.ended = new Set()
    this.end = follow({
      url: () => `${this.dataset.events}?after=${this.position}`,
      on: {
        batch: (batch, id) => { this.position = Number(id); this.batch(batch) },
        waiting: count,
        missed: (_, id) => { this.position = Number(id); this.refresh() },
        status: ({ status }) => { if (!document.querySelector(`#summary .status-${status}`)) this.refresh() },
      },
      state: (lost) => this.lost(lost),
    })
    this.addEventListener('weft-part', () => { this.paint() })
  }

  disconnectedCallback() { this.end?.() }

  /** Whether the newest checkpoint is shown, and not an older one. */
  get live() { return !new URL(location.href).searchParams.has('at') }

  batch(batch) {
    let commit = batch.end
    for (const e of batch.events ?? []) {
      switch (e.kind) {
        case 'task': this.task(e); break
        case 'commit':
          commit = true
          if (!e.checkpoint) break
          if (this.live) this.ended = new Set(this.tasks.keys())
          else { this.tasks.clear(); this.began.clear() }
          this.say(`checkpoint ${e.checkpoint} is stored`)
          break
        case 'token': this.dispatchEvent(new CustomEvent('weft-token', { detail: { position: this.position, e } })); break
      }
    }
    if (this.tasks.size) this.paint()
    if (commit || this.asks(batch)) this.refresh()
  }

  asks(batch) { return (batch.events ?? []).some((e) => e.kind === 'task' && (e.state === 'asking' || e.state === 'failed')) }

  task(e) {
    for (const id of e.nodes) {
      if (this.ended.delete(id) || !this.tasks.has(id)) this.tasks.set(id, new Map())
      this.tasks.get(id).set(e.task, e.state)
      if (e.state === 'running' && !this.began.has(id)) this.began.set(id, undefined)
    }
    if (e.state === 'running' && e.attempt < 2) this.say(`${e.node} runs`)
    this.dispatchEvent(new CustomEvent('weft-task', { detail: e }))
  }

  /** Marks the nodes, once a frame. */
  paint() {
    if (!this.live || this.frame) return
    this.frame = requestAnimationFrame(() => {
      this.frame = 0
      let next = Infinity
      let settled = false
      const now = performance.now()
      for (const [id, tasks] of this.tasks) {
        const states = [...tasks.values()]
        const state = order.find((s) => states.includes(s)) ?? 'done'
        if (this.began.has(id)) this.began.set(id, this.began.get(id) ?? now)
        const shown = now - (this.began.get(id) ?? -Infinity)
        if (state !== 'running' && shown < flash) {
          mark(document.getElementById(id), 'running') // also if it has run before this frame
          next = Math.min(next, flash - shown)
          continue
        }
        if (state !== 'running') this.began.delete(id)
        mark(document.getElementById(id), state)
        if (this.ended.delete(id)) {
          this.tasks.delete(id)
          this.began.delete(id)
          settled = true
        }
      }
      if (settled && !this.ended.size) this.refresh() // what was marked may be of a turn before that of the picture
      clearTimeout(this.again)
      if (next < Infinity) this.again = setTimeout(() => this.paint(), next)
    })
  }

  /** Tells that the stream is lost, and since when. */
  lost(lost) {
    const note = /** @type {HTMLElement | null} */ (document.getElementById('lost'))
    if (!note) return
    note.hidden = !lost
    if (lost) note.textContent = `The connection is lost. This is as of ${new Date().toLocaleTimeString()}.`
    else this.refresh()
  }

  /** Tells a screen reader what happens, at most once a second. */
  say(text) {
    const now = performance.now()
    if (now - (this.said ?? -1000) < 1000) return
    this.said = now
    const region = document.getElementById('said')
    if (region) region.textContent = text
  }
}

/**
 * Returns the upper left corner of a shape. Most shapes have it as attributes, so that the page need
 * not be laid out for it.
 * @param {SVGGraphicsElement | null} shape
 */
function corner(shape) {
  if (!shape) return { x: 0, y: 0 }
  if (!shape.hasAttribute('x')) return shape.getBBox()
  return { x: Number(shape.getAttribute('x')), y: Number(shape.getAttribute('y')) }
}

/**
 * Gives a node of the picture a state, until the page is refreshed.
 * @param {Element | null} node
 * @param {string} state
 */
function mark(node, state) {
  if (!node || node.classList.contains('state-' + state)) return
  node.classList.remove(...[...node.classList].filter((c) => c.startsWith('state-')))
  node.classList.add('state-' + state)
  stale(node)
  const legend = document.getElementById('legend-' + state)
  if (legend?.hidden) {
    legend.hidden = false
    stale(legend)
  }
  const label = `${node.getAttribute('data-node')}, ${words[state]}`
  node.setAttribute('aria-label', label)
  const title = node.querySelector('title')
  if (title) title.textContent = label
  let icon = node.querySelector('.icon')
  if (!icon) {
    const at = corner(/** @type {SVGGraphicsElement | null} */ (node.querySelector('.shape')))
    icon = document.createElementNS('http://www.w3.org/2000/svg', 'use')
    icon.setAttribute('class', 'icon')
    icon.setAttribute('x', String(at.x + 2))
    icon.setAttribute('y', String(at.y + 2))
    node.append(icon)
  }
  icon.setAttribute('href', '#weft-icon-' + state)
}

customElements.define('weft-run', Run)
