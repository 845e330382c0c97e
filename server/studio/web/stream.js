// A stream of events of the server that goes on after a break where it was.

/**
 * Follows a stream while the page is seen, until the element that owns it is gone.
 * @param {{url: () => string, on: Record<string, (data: any, id: string) => void>, state: (lost: boolean) => void}} options
 * @returns {() => void} ends it
 */
export function follow({ url, on, state }) {
  /** @type {EventSource | undefined} */
  let source
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer
  let lost = false
  let ended = false
  const close = () => { clearTimeout(timer); source?.close(); source = undefined }
  const open = () => {
    if (ended || source || document.hidden) return
    source = new EventSource(url())
    for (const [name, handle] of Object.entries(on)) {
      source.addEventListener(name, (e) => handle(JSON.parse(e.data), e.lastEventId))
    }
    source.onopen = () => { if (lost) { lost = false; state(false) } }
    source.onerror = () => {
      if (ended || document.hidden) return
      if (!lost) { lost = true; state(true) }
      close() // a new one asks for what came after the last event
      timer = setTimeout(open, 700)
    }
  }
  // A page that is not seen leaves its connection to the others: a browser has six.
  const seen = () => { if (document.hidden) close(); else { lost = true; open() } }
  document.addEventListener('visibilitychange', seen)
  open()
  return () => { ended = true; close(); document.removeEventListener('visibilitychange', seen) }
}

/**
 * Shows in the menu how many threads wait for a person.
 * @param {{waiting?: number, text?: string, title?: string}} change
 */
export function count({ waiting, text, title }) {
  const mark = document.getElementById('waiting')
  if (!mark || waiting === undefined) return
  mark.hidden = !waiting
  mark.textContent = text ?? ''
  mark.title = title ?? ''
}
