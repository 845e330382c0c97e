// <weft-chat>: a conversation whose answers are appended while they are written. The server renders
// all that is stored; a draft is what it rendered of a message, with what came since at its end.
import { coalesced, refresh } from './refresh.js'

/** How long a message must pause, in ms, until its text is rendered. */
const pause = 600

class Chat extends HTMLElement {
  connectedCallback() {
    /** @type {{position: number, e: any}[]} the pieces since the drafts were rendered */
    this.pieces = []
    this.refresh = coalesced()
    this.log = /** @type {HTMLElement | null} */ (this.querySelector('.log'))
    this.form = /** @type {HTMLFormElement | null} */ (this.querySelector('form.composer'))
    const run = /** @type {any} */ (this.closest('weft-run'))
    run?.addEventListener('weft-token', (e) => this.token(/** @type {CustomEvent} */ (e).detail))
    run?.addEventListener('weft-task', () => this.refresh())
    this.addEventListener('weft-part', (e) => this.replaced(/** @type {Element} */ (e.target)))
    if (this.form) this.compose(this.form)
    for (const hint of this.querySelectorAll('.noscript')) hint.remove()
    this.bottom()
    if (run?.position > Number(this.drafts?.dataset.position)) this.refresh() // it had tokens before this module was there
  }

  get drafts() { return /** @type {HTMLElement | null} */ (this.querySelector('#drafts')) }

  /** Whether the end of the conversation is seen. */
  get follows() {
    const log = this.log
    return !log || log.scrollHeight - log.scrollTop - log.clientHeight < 48
  }

  bottom() { if (this.log) this.log.scrollTop = this.log.scrollHeight }

  /** Takes a piece of a message, and shows it in the next frame. */
  token(detail) {
    if (this.viewsPast) return
    this.pieces.push(detail)
    clearTimeout(this.timer)
    this.timer = setTimeout(() => this.refresh(), pause)
    if (detail.e.final) this.refresh()
    if (this.frame) return
    this.frame = requestAnimationFrame(() => { this.frame = 0; this.show() })
  }

  get viewsPast() { return new URL(location.href).searchParams.has('at') }

  /** Appends the pieces that are not shown yet. */
  show() {
    const drafts = this.drafts
    if (!drafts) return
    const follows = this.follows
    const base = Number(drafts.dataset.position)
    this.pieces = this.pieces.filter((p) => p.position > base)
    /** @type {Map<Text, string>} */
    const grown = new Map()
    for (const piece of this.pieces) {
      if (piece.shown === drafts) continue
      piece.shown = drafts
      this.grow(drafts, piece.e, grown)
    }
    for (const [node, text] of grown) node.appendData(text)
    if (follows) this.bottom()
  }

  /** Appends one piece to its message. */
  grow(drafts, e, grown) {
    if (document.getElementById('m-' + e.id)) return // it is stored
    let draft = [...drafts.children].find((d) => d.dataset.message === e.id)
    if (draft && e.first) { draft.remove(); draft = undefined }
    if (!draft) drafts.append(draft = blank(e.id))
    const add = (box, text) => {
      let node = box.lastChild
      if (!(node instanceof Text)) box.append(node = document.createTextNode(''))
      grown.set(node, (grown.get(node) ?? '') + text)
    }
    if (e.text) add(draft.querySelector('.tail'), e.text)
    if (e.reasoning) {
      const box = draft.querySelector('.thoughts')
      box.hidden = false
      add(box.querySelector('.thought'), e.reasoning)
    }
    if (e.call) {
      const calls = draft.querySelector('.calls')
      while (calls.children.length <= e.call.index && e.call.index < 100) calls.append(card())
      const box = calls.children[e.call.index]
      if (!box) return
      if (e.call.name) box.querySelector('b').textContent = e.call.name
      if (e.call.arguments) add(box.querySelector('pre'), e.call.arguments)
    }
  }

  /** Continues after a part was rendered anew. */
  replaced(part) {
    if (part.id === 'drafts') this.show()
    if (part.id === 'messages' || part.id === 'asked' || part.id === 'drafts') { if (this.followed ?? true) this.bottom() }
    if (part.id === 'stop' && this.form) this.busy(this.form)
  }

  busy(form) {
    const send = form.querySelector('button.main')
    if (send) send.disabled = !!this.querySelector('#stop-run')
  }

  /** Sends a message without leaving the page. */
  compose(form) {
    const text = form.querySelector('textarea')
    const code = form.querySelector('weft-copy code')
    const template = code?.textContent ?? ''
    this.log?.addEventListener('scroll', () => { this.followed = this.follows })
    const said = JSON.stringify(text.defaultValue.trim() || 'Hello')
    text.addEventListener('input', () => {
      if (!code) return
      const body = JSON.stringify(text.value.trim() || 'Hello')
      code.textContent = template.replace('"content":' + said.replaceAll("'", "'\\''"), () => '"content":' + body.replaceAll("'", "'\\''"))
    })
    text.addEventListener('keydown', (e) => {
      if (e.key !== 'Enter' || !(e.ctrlKey || e.metaKey)) return
      e.preventDefault()
      if (!form.querySelector('button.main')?.disabled) form.requestSubmit()
    })
    if (!this.log) return // a new chat leads to its page
    form.addEventListener('submit', async (e) => {
      if (form.querySelector('[name=edit]') || form.querySelector('[name=at]')) return // another page
      e.preventDefault()
      const button = form.querySelector('button.main')
      button.disabled = true
      this.tell(form, '')
      try {
        const answer = await fetch(form.action, { method: 'POST', body: new FormData(form) })
        if (!answer.ok) {
          const page = new DOMParser().parseFromString(await answer.text(), 'text/html')
          this.tell(form, page.querySelector('main p:not(#lost)')?.textContent ?? 'The message was not sent.')
        } else {
          form.reset()
          this.followed = true
          await refresh()
          this.bottom()
        }
      } catch {
        this.tell(form, 'The message was not sent: the server cannot be reached.')
      }
      this.busy(form)
    })
    this.busy(form)
  }

  /** Shows why a message was not sent. */
  tell(form, text) {
    let note = form.querySelector('.error')
    if (!text) { note?.remove(); return }
    if (!note) {
      note = document.createElement('p')
      note.className = 'error'
      note.setAttribute('role', 'alert')
      form.prepend(note)
    }
    note.textContent = text
  }
}

/** An empty draft, as the server renders one. */
function blank(id) {
  const draft = document.createElement('article')
  draft.className = 'message by-assistant draft'
  draft.dataset.message = id
  draft.setAttribute('aria-label', 'Message that is being written')
  const [who, thoughts, text, tail, calls] = ['p', 'details', 'div', 'div', 'div'].map((name) => document.createElement(name))
  who.className = 'who'
  const name = document.createElement('b')
  name.textContent = 'Assistant'
  who.append(name, ' is writing')
  thoughts.className = 'thoughts'
  thoughts.hidden = true
  const summary = document.createElement('summary')
  summary.textContent = 'Reasoning'
  const thought = document.createElement('div')
  thought.className = 'thought'
  thoughts.append(summary, thought)
  text.className = 'text'
  tail.className = 'tail'
  calls.className = 'calls'
  draft.append(who, thoughts, text, tail, calls)
  return draft
}

/** The card of a call that is being written. */
function card() {
  const box = document.createElement('div')
  box.className = 'card card-running'
  const line = document.createElement('p')
  line.append(document.createElement('b'), ' is called')
  const pre = document.createElement('pre')
  pre.tabIndex = 0
  box.append(line, pre)
  return box
}

customElements.define('weft-chat', Chat)
