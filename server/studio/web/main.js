// What all pages of the studio load.
import { visit } from './refresh.js' // the first, before scripts change what the server sent
import './copy.js'
import './palette.js'
import './picture.js'
import './run.js'
import './slider.js'
import { count, follow } from './stream.js'

const theme = localStorage.getItem('weft-theme')
if (theme) document.documentElement.dataset.theme = theme

// The answer to a form with a mistake is at an address that takes only forms.
const address = document.getElementById('address')?.dataset.address
if (address) history.replaceState(null, '', address)

// What only some pages have.
const load = () => {
  for (const name of ['chat', 'command', 'editor', 'form', 'inbox', 'lists', 'times']) {
    if (document.querySelector('weft-' + name)) import(`./${name}.js`)
  }
}
load()
document.addEventListener('weft-part', load)

// A page that follows threads gets the number in the menu with them.
const changes = document.querySelector('nav.menu')?.getAttribute('data-changes')
if (changes && !document.querySelector('weft-lists,weft-run')) follow({ url: () => changes, on: { change: count }, state: () => {} })

for (const button of document.querySelectorAll('button[data-theme-switch]')) {
  /** @type {HTMLElement} */ (button).hidden = false
  button.addEventListener('click', () => {
    const dark = document.documentElement.dataset.theme
      ? document.documentElement.dataset.theme === 'dark'
      : matchMedia('(prefers-color-scheme: dark)').matches
    document.documentElement.dataset.theme = dark ? 'light' : 'dark'
    localStorage.setItem('weft-theme', dark ? 'light' : 'dark')
  })
}

// Steps of a thread replace one another without a new page.
document.addEventListener('click', (e) => {
  const link = /** @type {HTMLAnchorElement | null} */ (/** @type {Element} */ (e.target).closest('a[data-swap]'))
  if (!link || e.ctrlKey || e.metaKey || e.shiftKey || e.button !== 0) return
  e.preventDefault()
  const [from, to] = [location, link].map((at) => new URLSearchParams(at.search))
  // What other names select, such as tasks, is in the parts that may come afterwards.
  visit(link.href, false, ['at', 'from', 'tab', 'node'].some((name) => from.get(name) !== to.get(name)))
})
